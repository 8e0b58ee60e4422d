// SPDX-License-Identifier: Apache-2.0
// Gemma 3, text only: Gemma 2 with norms on the heads of q and k, a rope for each layer type, and
// five sliding layers to one that sees all; mirroring transformers 5.17
// models/gemma3/modular_gemma3.py.
#include <tuple>

#include "family/decoder.h"
#include "family/families.h"
#include "family/gemma.h"

namespace memtape::family {
namespace {

struct Gemma3TextConfig : Gemma2Config {
  Gemma3TextConfig(const Config& c, const ModelOptions& options)
      : Gemma2Config(c, options, {.vocab_size = 262208}) {
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    const std::int64_t pattern = c.dimension("sliding_window_pattern", 6);
    if (c.is_null("layer_types"))
      for (std::int64_t i = 0; i < num_hidden_layers; ++i)
        if ((i + 1) % pattern != 0)
          layer_types[static_cast<std::size_t>(i)] = LayerType::sliding_attention;
    check_sliding_window(c, *this);
    ropes = layer_ropes(c, head_dim, layer_types);
  }
  LayerRopes ropes;
};

struct Gemma3Steps {
  Gemma3Steps(const nn::Scope& scope, const DecoderConfig& c, std::int64_t) : norms(scope, c) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    norms(q, k);
    std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
  HeadNorms<GemmaRMSNorm> norms;
};

struct Gemma3Parts : DecoderParts {
  using Settings = Gemma3TextConfig;
  using DecoderLayer = Gemma2DecoderLayer<AttentionOf<Gemma3Steps>>;
  using Norm = GemmaRMSNorm;
  using Embedding = GemmaTextScaledWordEmbedding;
  using Rotary = LayerTypeRotaryEmbedding;
  static const LayerRopes& rope(const Gemma3TextConfig& c) { return c.ropes; }
  static void cap_logits(Tensor& logits, const Gemma3TextConfig& c) {
    softcap_logits(logits, c.final_logit_softcapping);
  }
};

}  // namespace

ModelPointer build_gemma3_text(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Gemma3Parts>>(c, Gemma3TextConfig(c, options), options);
}

}  // namespace memtape::family
