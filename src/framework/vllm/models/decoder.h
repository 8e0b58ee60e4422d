// SPDX-License-Identifier: Apache-2.0
// StreamDecoder: the decoder that most of vLLM's model files contain: an embedding, layers that
// pass on (hidden_states, residual), a last norm and a head. DecoderChoices holds what a family
// chooses.
#pragma once

#include "framework/vllm/models/model.h"

namespace memtape::vllm {

struct LayerBlocks {
  Block attention, feed_forward;
};

/// How a layer adds to its residual.
enum class LayerForm : std::uint8_t {
  fused,         ///< norms add the residual (Llama)
  sandwich,      ///< there are norms before and after both blocks (Gemma 2 and 3)
  explicit_add,  ///< residual + hidden * multiplier (Granite)
  plain_add,     ///< hidden + residual; both are passed on, though only one is used (PhiMoE)
  post_norm,     ///< there are only norms after the blocks (EXAONE 4)
};

struct DecoderChoices {
  /// Builds the blocks of layer `index` in vLLM's order.
  std::function<LayerBlocks(const Place&, std::int64_t index)> blocks{};
  LayerForm form = LayerForm::fused;
  NormKind norm = NormKind::rms;
  bool layer_norm = false;        ///< nn.LayerNorm replaces RMSNorm (PhiMoE)
  bool scales_embedding = false;  ///< Gemma: scaling makes a new tensor
  bool soft_caps_logits = false;
  bool head_bias = false;
  bool norms_first = false;  ///< the layer makes its norms before its blocks
  /// One kernel computes the embedding and the first norm, if a rank has the whole table
  /// (fused_embed_norm of DeepSeek V3.2).
  bool fuses_first_norm = false;
  const char* layers_name = "layers";
};

std::unique_ptr<ServedModel> make_stream_decoder(const Place& place, DecoderChoices choices);

}  // namespace memtape::vllm
