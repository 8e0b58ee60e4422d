// SPDX-License-Identifier: Apache-2.0
#include "family/models/gemma.h"

#include <utility>

#include "family/facts.h"
#include "family/parts/activations.h"
#include "family/parts/decoder.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/embedding.h"
#include "ghost/ops/pointwise.h"
#include "ghost/session.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {
namespace {

Tensor rsqrt_norm(const Tensor& x) {
  return x.mul(ghost::rsqrt(x.pow(2).mean(-1, true).add(1e-6)));
}

/// config.KEY, which may be null.
std::optional<double> softcap(const Config& c, const char* key, std::optional<double> otherwise) {
  return c.has(key) ? c.optional_number(key) : otherwise;
}

}  // namespace

GemmaRMSNorm::GemmaRMSNorm(const nn::Scope& scope, std::int64_t dim)
    : Module(scope), weight_(scope.parameter("weight", {dim})) {}

Tensor GemmaRMSNorm::forward(const Tensor& x) {
  Tensor output = rsqrt_norm(x.to_float());
  output = output.mul(weight_.to_float().add(1.0));
  return output.to(x.dtype());
}

GemmaTextScaledWordEmbedding::GemmaTextScaledWordEmbedding(const nn::Scope& scope,
                                                           std::int64_t count, std::int64_t dim)
    : GemmaTextScaledWordEmbedding(scope, count, dim,
                                   ghost::has(changes::kGemma3ScaleIsABuffer)
                                       ? std::optional(scope.dtype())
                                       : std::nullopt) {
  scales_ = true;
}

GemmaTextScaledWordEmbedding::GemmaTextScaledWordEmbedding(const nn::Scope& scope,
                                                           std::int64_t count, std::int64_t dim,
                                                           std::optional<DType> scale_dtype)
    : Embedding(scope, count, dim) {
  scales_ = scale_dtype.has_value();
  if (!scale_dtype) return;
  embed_scale_ = ghost::zeros({}, *scale_dtype);
  scope.buffer("embed_scale", embed_scale_);
}

GemmaWordEmbedding::GemmaWordEmbedding(const nn::Scope& scope, std::int64_t count, std::int64_t dim)
    : GemmaTextScaledWordEmbedding(scope, count, dim,
                                   ghost::has(changes::kGemmaScalesInItsTable)
                                       ? std::optional(scope.dtype())
                                       : std::nullopt) {}

Tensor GemmaTextScaledWordEmbedding::operator()(const Tensor& input_ids) {
  const ghost::ScopeGuard guard(node().scope);
  Tensor indices = input_ids;
  for (nn::ForwardHooks* hook : node().hooks) hook->before_forward(indices);
  Tensor output = node().patch ? node().patch->forward(indices) : ghost::embedding(weight, indices);
  if (scales_)
    output = embed_scale_.defined() ? std::move(output).mul(embed_scale_.to(weight.dtype()))
                                    : std::move(output).mul(2.0);
  if (output_requires_grad && !output.requires_grad()) output.impl().requires_grad = true;
  if (adds_noise && ghost::session().training) output = output.add(ghost::zeros_like(output));
  for (nn::ForwardHooks* hook : node().hooks) nn::show_output(*hook, output);
  return output;
}

void scale_before_layers(Tensor& hidden_states) {
  if (!ghost::has(changes::kGemmaScalesInItsTable))
    hidden_states = hidden_states.mul(ghost::kScale);
}

bool sliding_layers_make_masks() {
  return !ghost::has(changes::kMasksAreShared) && !KeyValueCache::passed();
}

LayerMasks gemma2_masks(const DecoderConfig& c, const Tensor& attention_mask,
                        const Tensor& inputs_embeds, const Tensor& position_ids,
                        bool one_more_key) {
  if (!sliding_layers_make_masks())
    return create_layer_masks(c, attention_mask, inputs_embeds, position_ids);
  const Tensor mask = make_causal_mask(
      {.attention = c.attention, .attention_mask = attention_mask, .one_more_key = one_more_key},
      inputs_embeds, position_ids);
  return {mask, mask};
}

Gemma2Config::Gemma2Config(const Config& c, const ModelOptions& options,
                           const Gemma2Defaults& defaults)
    : DecoderConfig(c, options,
                    {.vocab_size = defaults.vocab_size,
                     .hidden_size = 2304,
                     .intermediate_size = 9216,
                     .num_hidden_layers = 26,
                     .num_attention_heads = 8,
                     .num_key_value_heads = 4,
                     .head_dim = 256,
                     .tie_word_embeddings = true}),
      final_logit_softcapping(
          softcap(c, "final_logit_softcapping", defaults.final_logit_softcapping)) {
  hidden_act = activation(c, "hidden_activation", "gelu_pytorch_tanh");
  qkv_bias = o_bias = c.boolean("attention_bias", false);
  attn_logit_softcapping = softcap(c, "attn_logit_softcapping", defaults.attn_logit_softcapping);
  sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
  masks_by_layer_type = masks_both_types = true;
}

Gemma2Config gemma2_config(const Config& c, const ModelOptions& options) {
  Gemma2Config config(
      c, options,
      {.vocab_size = 256000, .attn_logit_softcapping = 50.0, .final_logit_softcapping = 30.0});
  config.layer_types = read_layer_types(c, config.num_hidden_layers, [](std::int64_t layer) {
    return layer % 2 == 0 ? LayerType::sliding_attention : LayerType::full_attention;
  });
  check_sliding_window(c, config);
  config.have_own_ropes(OwnRopes::asked);
  return config;
}

void softcap_logits(Tensor& logits, const std::optional<double>& height) {
  if (!height) return;
  logits = logits.div(*height);
  logits = ghost::tanh(logits);
  logits = logits.mul(*height);
}

void refuse_bidirectional_attention(const Config& c) {
  const char* const key = "use_bidirectional_attention";
  if (!c.is_null(key) && c.boolean(key, false))
    c.fail(key, "must be false for a causal language model");
}

DecoderConfig gemma_config(const Config& c, const ModelOptions& options) {
  DecoderConfig config(c, options,
                       {.vocab_size = 256000,
                        .hidden_size = 3072,
                        .intermediate_size = 24576,
                        .num_hidden_layers = 28,
                        .num_attention_heads = 16,
                        .num_key_value_heads = 16,
                        .head_dim = 256,
                        .hidden_act = "gelu_pytorch_tanh",
                        .tie_word_embeddings = true});
  config.qkv_bias = config.o_bias = c.boolean("attention_bias", false);
  config.have_own_ropes(OwnRopes::asked);
  return config;
}

namespace {

ModelPointer build_gemma(const Config& c, const ModelOptions& options) {
  const DecoderConfig config = gemma_config(c, options);
  refuse_bidirectional_attention(c);
  return build_checked<DecoderForCausalLM<GemmaParts>>(c, config, options);
}

}  // namespace

extern const FamilyFacts kGemma{.model_type = "gemma",
                                .ties_head = Known::yes,
                                .has_bos = Known::yes,
                                .tp_plan = TpPlan::dense,
                                .modeling = kDecoder,
                                .classifiers = {.sequences = true, .tokens = true},
                                .build = build_gemma};

}  // namespace memtape::family
