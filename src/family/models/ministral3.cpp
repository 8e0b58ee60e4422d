// SPDX-License-Identifier: Apache-2.0
#include "family/parts/ministral3_attention.h"

#include "family/facts.h"
#include "family/parts/forward_arguments.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/logarithms.h"
#include "ghost/ops/unary.h"

namespace memtape::family {
namespace {

/// get_llama_4_attn_scale: float32 [B, 1, S, 1] of the positions, made again in every layer. Those
/// that generate() hands over have a row for each sequence.
Tensor llama_4_attn_scale(std::int64_t length) {
  const Tensor passed = passed_position_ids();
  const std::int64_t rows = passed.defined() ? passed.size(0) : 1;
  const ghost::GradMode no_grad(false);
  Tensor scaling;
  {
    Tensor blocks;
    {
      const ghost::Op op("div", {});
      blocks = ghost::empty({rows, length}, DType::float32);
    }
    scaling = ghost::log(ghost::floor(std::move(blocks)).add(1.0));
  }
  scaling = std::move(scaling).mul(0.1);
  scaling = std::move(scaling).add(1.0);
  return scaling.view({rows, 1, length, 1});
}

}  // namespace

Ministral3Config::Ministral3Config(const Config& c, const ModelOptions& options)
    : DecoderConfig(c, options,
                    {.vocab_size = 131072,
                     .intermediate_size = 14336,
                     .num_hidden_layers = 34,
                     .num_key_value_heads = 8,
                     .head_dim = c.has("head_dim") ? 0 : 128}) {
  sliding_window = c.optional_dimension("sliding_window");
  if (sliding_window) layer_types.assign(layer_types.size(), LayerType::sliding_attention);
  if (c.is_null("rope_parameters")) rope.rope_type = RopeType::yarn;
  if (!c.is_null("rope_parameters") && !c.object("rope_parameters").has("llama_4_scaling_beta"))
    c.fail("rope_parameters", "llama_4_scaling_beta is missing");
}

Tensor scaled_as_llama_4(const Tensor& q) {
  const Tensor scale = llama_4_attn_scale(q.size(2)).to(q.dtype());
  return q.mul(scale);
}

void ScaledQueries::operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) const {
  Rotated::operator()(q, k, cos_sin);
  q = scaled_as_llama_4(q);
}

namespace {

ModelPointer build_ministral3(const Config& c, const ModelOptions& options) {
  const Ministral3Config config(c, options);
  return build_checked<DecoderForCausalLM<Ministral3Parts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kMinistral3{
    .model_type = "ministral3",
    .first = {5, 0, 0},
    .ties_head = Known::no,
    .has_bos = Known::yes,
    .modeling = kDecoder,
    .classifiers = {.sequences = true, .tokens = true, .answers = true},
    .build = build_ministral3};

}  // namespace memtape::family
