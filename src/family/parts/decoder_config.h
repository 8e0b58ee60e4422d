// SPDX-License-Identifier: Apache-2.0
// DecoderConfig: the settings that most decoder-only families share, under transformers' names. A
// family reads it with the defaults of its own configuration class and then sets what it has beyond
// them.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "family/parts/early_decoder.h"
#include "family/parts/rope.h"
#include "family/pretrained.h"
#include "nn/activations.h"
#include "release/release.h"

namespace memtape::family {

/// The defaults of a configuration_FAMILY.py; 0 if the class has None.
struct DecoderDefaults {
  std::int64_t vocab_size = 32000, hidden_size = 4096, intermediate_size = 11008;
  std::int64_t num_hidden_layers = 32, num_attention_heads = 32, num_key_value_heads = 0,
               head_dim = 0;
  std::string_view hidden_act = "silu";
  bool tie_word_embeddings = false;
};

/// The rotary embeddings that attentions themselves had before transformers 4.48.
enum class OwnRopes {
  none,
  unread,  ///< beside the model's, whose cos and sin they are given
  asked,   ///< instead of the model's: each layer makes its own cos and sin
};

struct DecoderConfig {
  DecoderConfig(const Config& c, const ModelOptions& options, const DecoderDefaults& defaults);

  std::int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
      num_key_value_heads, head_dim;
  nn::Activation hidden_act;
  bool tie_word_embeddings;
  double attention_dropout;
  RopeParameters rope;
  AttentionImplementation attention;

  bool qkv_bias = false, o_bias = false, mlp_bias = false, head_bias = false;
  std::optional<double> attn_logit_softcapping;
  std::optional<std::int64_t> sliding_window;
  std::vector<LayerType> layer_types;  ///< one per layer
  bool masks_by_layer_type =
      false;  ///< the model makes a mask per type in use, the full one always (causal_mask_mapping)
  bool masks_both_types = false;        ///< and the sliding one always
  const Change* positions_added_since;  ///< see forward_arguments.h
  bool knew_windows = false;            ///< its masks heeded windows before kMasksKnowWindows, too

  LayerType layer_type(std::int64_t layer) const {
    return layer_types[static_cast<std::size_t>(layer)];
  }
  bool has_sliding_layers() const;

  OwnRopes own_ropes = OwnRopes::none;
  EarlyDecoder early;  ///< see have_early_llama and those beside it
  /// Marks that attentions have rotary embeddings of their own, in releases where they do.
  void have_own_ropes(OwnRopes ropes);
};

/// What these families did before transformers 4.45, in releases where they did.
void have_early_llama(const Config& c, DecoderConfig& config);
void have_early_mistral(const Config& c, DecoderConfig& config);
void have_early_qwen2(const Config& c, DecoderConfig& config);

/// The window of each layer; 0 for a layer that does not slide.
std::vector<std::int64_t> sliding_windows(const DecoderConfig& config);

/// config.layer_types, or `otherwise(layer)` if the key is absent.
std::vector<LayerType> read_layer_types(const Config& c, std::int64_t layers,
                                        LayerType (*otherwise)(std::int64_t layer));

/// The same for models some of whose layers do not attend: these have none of the types, and are
/// called `other`.
using MixedLayerTypes = std::vector<std::optional<LayerType>>;
MixedLayerTypes read_mixed_layer_types(const Config& c, std::int64_t layers, std::string_view other,
                                       std::optional<LayerType> (*otherwise)(std::int64_t layer));

/// The types of the layers that attend; the others count as full attention.
std::vector<LayerType> attending_types(const MixedLayerTypes& types);

/// The rule of Cohere 2 and AFMoE: each `every`th layer attends to everything, the others to a
/// window, which is `window` unless the configuration names one. Both masks are made.
void read_sliding_pattern(const Config& c, DecoderConfig& config, std::int64_t every,
                          std::int64_t window);

/// Fails if layers slide and there is no window.
void check_sliding_window(const Config& c, const DecoderConfig& config);

/// The rule of Qwen2 and Qwen3: layers from max_window_layers on slide when use_sliding_window is
/// set.
void read_max_window_layers(const Config& c, DecoderConfig& config,
                            std::int64_t default_max_window_layers = 28);

}  // namespace memtape::family
