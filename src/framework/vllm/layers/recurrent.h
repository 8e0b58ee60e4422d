// SPDX-License-Identifier: Apache-2.0
// Layers that have a state instead of keys and values (vllm/model_executor/layers/mamba): Mamba's
// mixer, Mamba 2's mixer, and the gated delta net of Qwen3-Next and Qwen3.5. The profile run has no
// metadata, so the scans are skipped there, and projections, the input of the convolution and norms
// remain. Mamba 2 and the delta net run their kernels once on one chunk, to tune them, and empty
// the cache after that.
#pragma once

#include <memory>
#include <optional>

#include "framework/vllm/layers/linear.h"
#include "framework/vllm/layers/norms.h"

namespace memtape::vllm {

struct MambaShape {
  std::int64_t hidden = 0, inner = 0, state = 0, kernel = 0;
  bool conv_bias = true, bias = false;
  std::int64_t time_step_rank = 0;  ///< for Mamba 1
  bool has_norms = false;           ///< norms of the time step, B and C (Jamba, Falcon Mamba)
  bool norms_have_weights = true;
  std::int64_t groups = 1, heads = 0, head_size = 0, chunk = 256;  ///< for Mamba 2
  bool gated_norm = true;
  DType state_dtype = DType::bfloat16;
};

class MambaMixer : public nn::Module<MambaMixer> {
 public:
  MambaMixer(const Place& place, const MambaShape& shape);
  Tensor forward(const Tensor& hidden_states);

 private:
  std::unique_ptr<Linear> conv1d_, in_proj_, x_proj_, dt_proj_, out_proj_;
  std::vector<std::unique_ptr<RMSNorm>> norms_;
  Tensor a_, d_;
};

class MambaMixer2 : public nn::Module<MambaMixer2> {
 public:
  MambaMixer2(const Place& place, const MambaShape& shape);
  Tensor forward(const Tensor& hidden_states);

 private:
  void convolve(const Tensor& projected);
  void warm_up(DType dtype);
  Tensor gated_norm(const Tensor& x) const;

  Runtime& runtime_;
  MambaShape shape_;
  std::int64_t groups_, conv_width_, inner_, heads_;  ///< those of this rank
  std::unique_ptr<Linear> conv1d_, in_proj_, out_proj_;
  Tensor a_, d_, dt_bias_, norm_;
  bool is_warm_ = false;
};

/// ShortConv (mamba/short_conv.py) of LFM2: two gates around a convolution, whose last inputs are the
/// state.
class ShortConv : public nn::Module<ShortConv> {
 public:
  ShortConv(const Place& place, std::int64_t hidden, std::int64_t kernel, bool bias);
  Tensor forward(const Tensor& hidden_states);

 private:
  std::unique_ptr<Linear> conv_, in_proj_, out_proj_;
};

struct DeltaNetShape {
  std::int64_t hidden = 0, key_heads = 0, value_heads = 0, key_size = 0, value_size = 0, kernel = 0;
  /// Qwen3-Next; in Qwen3.5 queries, keys, values and gates follow each other.
  bool interleaved = true;
  DType state_dtype = DType::bfloat16;
};

class GatedDeltaNet : public nn::Module<GatedDeltaNet> {
 public:
  GatedDeltaNet(const Place& place, const DeltaNetShape& shape);
  Tensor forward(const Tensor& hidden_states);

 private:
  struct Inputs {
    std::vector<Tensor> kept;  ///< what the locals of the function hold until it ends
    Tensor mixed, z;
  };
  Inputs interleaved_inputs(const Tensor& mixed_qkvz) const;
  Inputs flat_inputs(const Tensor& mixed_qkvz) const;
  void warm_up(DType dtype);

  Runtime& runtime_;
  DeltaNetShape shape_;
  std::int64_t key_width_, value_width_, heads_;  ///< those of this rank
  std::unique_ptr<Linear> conv1d_, in_proj_qkvz_, in_proj_ba_, out_proj_;
  Tensor dt_bias_, a_log_, norm_;
  bool is_warm_ = false;
};

}  // namespace memtape::vllm
