// SPDX-License-Identifier: Apache-2.0
// Gemma 2: Gemma with four norms a layer, softcapped attention and logits, and layers that slide in
// turn; mirroring transformers 5.17 models/gemma2/modular_gemma2.py.
#include "family/decoder.h"
#include "family/families.h"
#include "family/gemma.h"

namespace memtape::family {
namespace {

struct Gemma2Parts : DecoderParts {
  using Settings = Gemma2Config;
  using DecoderLayer = Gemma2DecoderLayer<LlamaAttention>;
  using Norm = GemmaRMSNorm;
  using Embedding = GemmaTextScaledWordEmbedding;
  static void cap_logits(Tensor& logits, const Gemma2Config& c) {
    softcap_logits(logits, c.final_logit_softcapping);
  }
};

}  // namespace

ModelPointer build_gemma2(const Config& c, const ModelOptions& options) {
  Gemma2Config config(
      c, options,
      {.vocab_size = 256000, .attn_logit_softcapping = 50.0, .final_logit_softcapping = 30.0});
  config.layer_types = read_layer_types(c, config.num_hidden_layers, [](std::int64_t layer) {
    return layer % 2 == 0 ? LayerType::sliding_attention : LayerType::full_attention;
  });
  check_sliding_window(c, config);
  return build_checked<DecoderForCausalLM<Gemma2Parts>>(c, config, options);
}

}  // namespace memtape::family
