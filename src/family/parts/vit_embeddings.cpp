// SPDX-License-Identifier: Apache-2.0
#include "family/parts/vit_embeddings.h"

#include <utility>

#include "family/parts/activations.h"
#include "family/parts/config_checks.h"
#include "ghost/ops/cudnn_convolution.h"
#include "ghost/ops/joins.h"

namespace memtape::family {
namespace {

/// PreTrainedConfig's: as many as id2label names, else 2.
std::int64_t read_num_labels(const Config& c) {
  const auto named = static_cast<std::int64_t>(c.object("id2label").keys().size());
  const std::int64_t labels = c.dimension("num_labels", named > 0 ? named : 2);
  if (labels == 1) c.fail("num_labels", "regression is not modelled, must be 2 or more");
  return labels;
}

/// A token of its own, where there is one.
Tensor token(const nn::Scope& scope, const char* name, const Dims& sizes, bool there_is_one) {
  return there_is_one ? scope.parameter(name, sizes) : Tensor();
}

}  // namespace

ViTConfig::ViTConfig(const Config& c, const ModelOptions& options, std::int64_t patch_size)
    : hidden_size(c.dimension("hidden_size", 768)),
      num_hidden_layers(c.layers("num_hidden_layers", 12)),
      num_attention_heads(c.dimension("num_attention_heads", 12)),
      head_dim(c.dimension("head_dim", hidden_size / num_attention_heads)),
      intermediate_size(c.dimension("intermediate_size", 3072)),
      num_channels(c.dimension("num_channels", 3)),
      num_labels(read_num_labels(c)),
      image(image_sides(c, "image_size", 224)),
      patch(image_sides(c, "patch_size", patch_size)),
      hidden_act(activation(c, "hidden_act", "gelu")),
      hidden_dropout_prob(c.number("hidden_dropout_prob", 0.0)),
      attention_probs_dropout_prob(c.number("attention_probs_dropout_prob", 0.0)),
      qkv_bias(c.boolean("qkv_bias", true)),
      attention(options.attention) {
  check_divides(c, "num_attention_heads", num_attention_heads, hidden_size);
  if (patch.height != patch.width) c.fail("patch_size", "only square patches are modelled");
  if (num_patches() < 1) c.fail("patch_size", "must be at most image_size");
}

ViTEmbeddings::ViTEmbeddings(const nn::Scope& scope, const ViTConfig& c)
    : Module(scope),
      cls_token_(scope.parameter("cls_token", {1, 1, c.hidden_size})),
      mask_token_(token(scope, "mask_token", {1, c.hidden_size}, c.has_mask_token)),
      patch_size_(c.patch.height),
      projection_(scope / "patch_embeddings" / "projection",
                  Dims{c.hidden_size, c.num_channels, c.patch.height, c.patch.width}, true),
      position_embeddings_(scope.parameter(
          "position_embeddings", {1, c.num_patches() + (c.distills ? 2 : 1), c.hidden_size})),
      dropout_(scope / "dropout", c.hidden_dropout_prob),
      distillation_token_(token(scope, "distillation_token", {1, 1, c.hidden_size}, c.distills)) {}

Tensor ViTEmbeddings::forward(const Tensor& pixel_values) {
  Tensor embeddings = patch_embeddings(pixel_values);
  const Dims one_each{pixel_values.size(0), 1, cls_token_.size(2)};
  const Tensor cls_tokens = cls_token_.expand(one_each);
  embeddings = distillation_token_.defined()
                   ? ghost::cat({cls_tokens, distillation_token_.expand(one_each), embeddings}, 1)
                   : ghost::cat({cls_tokens, embeddings}, 1);
  embeddings = embeddings.add(position_embeddings_);
  embeddings = dropout_(embeddings);
  return embeddings;
}

/// The projection, flattened and transposed.
Tensor ViTEmbeddings::patch_embeddings(const Tensor& pixel_values) {
  const ghost::ScopeGuard guard(projection_.node().scope);
  Tensor patches =
      ghost::cudnn_convolution(pixel_values, projection_.weight, projection_.bias, patch_size_, 0);
  const Dims flat{patches.size(0), patches.size(1), -1};
  return std::move(patches).reshape(flat).transpose(1, 2);
}

SampleSizes image_sample(const ViTConfig& c) {
  return {.pixel_values = Dims{c.num_channels, c.image.height, c.image.width},
          .input_features = {},
          .input_ids = {},
          .labels = Dims{}};
}

}  // namespace memtape::family
