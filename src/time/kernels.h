// SPDX-License-Identifier: Apache-2.0
// Kernels: how long one kernel takes on a GPU. It is the roofline's time, divided by the share of
// the roofline that measured kernels of that shape reach (data/kernels.txt). A GPU that nobody has
// measured takes the shares of the nearest one that was measured, and the speeds of its own data
// sheet.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "time/machine.h"

namespace memtape::time {

struct Gemm {
  double m = 1, n = 1, k = 1;
  double weight_bytes = 0;  ///< bytes of an element of the n x k side; 0: those of the compute type
};

/// Whose flash attention runs. `first` is FlashAttention of 2022, its Triton form, too; `second` is
/// what torch itself and the flash-attn package from 2.0 on have; `newest` is what was measured:
/// cuDNN's or a newer one.
enum class FlashAttention : std::uint8_t { newest, second, first };

class Kernels {
 public:
  explicit Kernels(const Machine& machine);

  /// The seconds for y[m, n] = x[m, k] w[n, k].
  double gemm(const Gemm& shape, Compute compute) const;
  /// The matrices of experts: `picks` tokens in all are spread over `local` experts of width
  /// `width`.
  struct Experts {
    double picks = 1;  ///< tokens times top_k, as far as they reach this GPU
    double local = 1;  ///< the experts that lie on it
    double hidden = 1, width = 1;
    double matrices = 3;        ///< those of gate, up and down
    bool balanced = true;       ///< false: spread as the routers of served models do
    bool weights_only = false;  ///< the weights have 4 bits and are unpacked
  };
  double experts(const Experts& e, Compute compute) const;
  /// Causal flash attention over whole sequences: the seconds for `flops` operations at that
  /// length.
  double context_attention(double flops, double length, std::int64_t head_dim,
                           FlashAttention version) const;
  /// Its backward's seconds over its forward's.
  static double backward_of_attention(FlashAttention version);
  double latent_context_attention(double flops, double length) const;
  /// Attention of one token for each sequence, which reads `bytes` bytes of cache.
  double generation_attention(double bytes, double flops) const;
  double latent_generation_attention(double bytes, double flops) const;
  /// A kernel that reads and writes that many bytes.
  double elementwise(double bytes) const;
  /// The GPU whose measured kernels are used. It is not always the machine's own GPU.
  std::string_view witness() const { return witness_; }
  bool measured() const { return measured_; }
  /// The witness is of the machine's architecture, if not its own GPU.
  bool related() const { return related_; }
  const Machine& machine() const { return machine_; }

 private:
  std::span<const float> row(std::string_view kind, std::string_view words) const;
  struct Table {
    std::span<const float> rows[14];
    bool known = false;
  };
  const Table& table(Compute compute) const;
  double share(const Table& table, const Gemm& shape) const;
  double sustained(Compute compute) const;
  double peak(Compute compute) const;
  double roofline(double flops, double bytes, Compute compute) const;

  Machine machine_;
  std::string_view witness_;
  bool measured_ = false, related_ = false;
  Table tables_[4];  ///< for bf16, fp8, fp8 in blocks and nvfp4
  std::span<const float> context_[3], latent_context_, generation_, latent_generation_;
  std::span<const float> experts_[2][6];  ///< balanced or not, and by dtype
};

}  // namespace memtape::time
