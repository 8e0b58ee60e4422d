// SPDX-License-Identifier: Apache-2.0
// vLLM's norms (vllm/model_executor/layers/layernorm.py). RMSNorm has a kernel that adds the
// residual and normalizes in place. Gemma's norm multiplies with a float32 weight, which the kernel
// does not take, so it runs as PyTorch ops (vllm/ir/ops/layernorm.py).
#pragma once

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// Hidden states and residual, as layers pass them on.
struct Stream {
  Tensor hidden, residual;
};

enum class NormKind : std::uint8_t { rms, gemma };

class RMSNorm : public nn::Module<RMSNorm> {
 public:
  RMSNorm(const Place& place, std::int64_t width, NormKind kind = NormKind::rms,
          bool has_weight = true);
  Tensor forward(const Tensor& x);
  /// Adds the residual. The kernel changes both in place and returns them.
  Stream add(const Tensor& x, const Tensor& residual);
  /// The first layer starts the residual stream; later layers add to it.
  Stream start_or_add(const Tensor& x, const Tensor& residual) {
    return residual.defined() ? add(x, residual) : Stream{(*this)(x), x};
  }

 private:
  Tensor gemma_weight() const;
  NormKind kind_;
  Tensor weight_;
};

/// vLLM's LayerNorm, which is torch's in float32 (layernorm.py, LayerNorm), or nn.LayerNorm.
class LayerNorm : public nn::Module<LayerNorm> {
 public:
  LayerNorm(const Place& place, std::int64_t width, bool bias = true);
  Tensor forward(const Tensor& x);

 private:
  Tensor weight_, bias_;
};

}  // namespace memtape::vllm
