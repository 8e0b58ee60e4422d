// SPDX-License-Identifier: Apache-2.0
// EXAONE 4: norms on the heads of q and k, norms after attention and MLP instead of before, and, in
// models with a window, no rope in the layers of full attention; mirroring transformers 5.17
// models/exaone4/modular_exaone4.py.
#include "family/attention_of.h"
#include "family/decoder.h"
#include "family/families.h"
#include "family/llama.h"
#include "family/post_norm_layer.h"

namespace memtape::family {
namespace {

struct Exaone4Config : DecoderConfig {
  Exaone4Config(const Config& c, const ModelOptions& options)
      : DecoderConfig(c, options, {.vocab_size = 102400, .intermediate_size = 16384}) {
    sliding_window = c.has("sliding_window") ? c.optional_dimension("sliding_window") : 4096;
    const std::string pattern = pattern_of(c);
    layer_types = read_layer_types(c, num_hidden_layers,
                                   [](std::int64_t) { return LayerType::full_attention; });
    if (c.is_null("layer_types"))
      for (std::size_t i = 0; i < layer_types.size(); ++i)
        if (pattern[i % pattern.size()] == 'L') layer_types[i] = LayerType::sliding_attention;
    check_sliding_window(c, *this);
    masks_by_layer_type = true;
  }

  /// sliding_window_pattern: every so many layers full attention. Without a window no layer slides.
  std::string pattern_of(const Config& c) const {
    if (!sliding_window || !c.is_null("layer_types")) return "G";
    const std::int64_t every = c.dimension("sliding_window_pattern", 4);
    constexpr std::int64_t kLongest = 1024;
    return std::string(static_cast<std::size_t>(std::min(every, kLongest) - 1), 'L') + "G";
  }
};

struct Exaone4Steps {
  Exaone4Steps(const nn::Scope& scope, const Exaone4Config& c, std::int64_t layer)
      : norms(scope, c),
        rotates(!c.sliding_window || c.layer_type(layer) == LayerType::sliding_attention) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) {
    norms(q, k);
    if (rotates) std::tie(q, k) = apply_rotary_pos_emb(q, k, cos_sin);
  }
  HeadNorms<LlamaRMSNorm> norms;
  bool rotates;
};

struct Exaone4Parts : DecoderParts {
  using Settings = Exaone4Config;
  using DecoderLayer = PostNormDecoderLayer<AttentionOf<Exaone4Steps>, LlamaRMSNorm>;
  using Norm = LlamaRMSNorm;
};

}  // namespace

ModelPointer build_exaone4(const Config& c, const ModelOptions& options) {
  return build_checked<DecoderForCausalLM<Exaone4Parts>>(c, Exaone4Config(c, options), options);
}

}  // namespace memtape::family
