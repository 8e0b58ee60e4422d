// SPDX-License-Identifier: Apache-2.0
// DecoderLayer: one layer of a decoder that passes on (hidden_states, residual): it has two blocks
// and the norms that the family's form needs.
#pragma once

#include <deque>
#include <optional>

#include "framework/vllm/models/decoder.h"

namespace memtape::vllm {

/// RMSNorm, or LayerNorm in models that add residuals separately (phimoe.py).
class StreamNorm {
 public:
  StreamNorm(const Place& place, std::int64_t width, const DecoderChoices& choices);
  Tensor operator()(const Tensor& x) { return rms_ ? (*rms_)(x) : (*layer_norm_)(x); }
  Stream start_or_add(const Tensor& x, const Tensor& residual) {
    return rms_->start_or_add(x, residual);
  }

 private:
  std::optional<RMSNorm> rms_;
  std::optional<LayerNorm> layer_norm_;
};

class DecoderLayer : public nn::Module<DecoderLayer> {
 public:
  DecoderLayer(const Place& place, const DecoderChoices& choices, std::int64_t index);

  /// `normed` is the normed input, if it exists already. It is alive as long as the layer runs.
  Stream run(const Stream& input, const Tensor& normed = {});

 private:
  void make_norms(const Place& place, std::int64_t hidden, const DecoderChoices& choices);
  Stream fused(const Tensor& hidden, const Tensor& residual);
  Stream after_norm(Stream s);
  Stream after_attention(Stream s);
  Stream sandwich(const Tensor& hidden, const Tensor& residual);
  Stream plain_add(const Tensor& input);
  Stream post_norm(const Tensor& input);
  Tensor explicit_add(const Tensor& input);

  LayerForm form_;
  LayerBlocks blocks_;
  std::deque<StreamNorm> norms_;
};

}  // namespace memtape::vllm
