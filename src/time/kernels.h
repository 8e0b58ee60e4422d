// SPDX-License-Identifier: Apache-2.0
// Kernels: how long one kernel takes on a GPU: its roofline over the share of it that measured
// kernels of that shape reach (data/kernels.txt). A GPU that nobody measured borrows the shares of
// the nearest one that was, over its own data sheet.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "time/machine.h"

namespace memtape::time {

struct Gemm {
  double m = 1, n = 1, k = 1;
  double weight_bytes = 0;  ///< of an element of the n x k side; 0: as the compute type has
};

class Kernels {
 public:
  explicit Kernels(const Machine& machine);

  /// y[m, n] = x[m, k] w[n, k], seconds.
  double gemm(const Gemm& shape, Compute compute) const;
  /// The matrices of experts: `tokens` picks in all, spread over `local` experts of `width`.
  struct Experts {
    double picks = 1;  ///< tokens times top_k that reach this GPU
    double local = 1;  ///< experts on it
    double hidden = 1, width = 1;
    double matrices = 3;        ///< gate, up and down
    bool balanced = true;       ///< else as routers of served models spread
    bool weights_only = false;  ///< 4-bit weights, unpacked
  };
  double experts(const Experts& e, Compute compute) const;
  /// Flash attention over whole sequences, causal: seconds for operations of that length.
  /// `second`: FlashAttention-2, as torch's own and the flash-attn package have it.
  double context_attention(double flops, double length, std::int64_t head_dim, bool second) const;
  double latent_context_attention(double flops, double length) const;
  /// One token for each sequence, reading so many bytes of cache.
  double generation_attention(double bytes, double flops) const;
  double latent_generation_attention(double bytes, double flops) const;
  /// Something that reads and writes so many bytes.
  double elementwise(double bytes) const;
  /// The GPU whose measured kernels are used, and whether it is the machine's own.
  std::string_view witness() const { return witness_; }
  bool measured() const { return measured_; }
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
  double roofline(double flops, double bytes, Compute compute) const;

  Machine machine_;
  std::string_view witness_;
  bool measured_ = false;
  Table tables_[4];  ///< bf16, fp8, fp8 in blocks, nvfp4
  std::span<const float> context_[3], latent_context_, generation_, latent_generation_;
  std::span<const float> experts_[2][6];  ///< balanced or not, by dtype
};

}  // namespace memtape::time
