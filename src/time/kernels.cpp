// SPDX-License-Identifier: Apache-2.0
#include "time/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "time/kernel_rows.h"

namespace memtape::time {
namespace {

constexpr double kKernelMicrosecond = 1e-6;
/// The grid of scripts/kernel_tables.py.
constexpr std::array<double, 14> kRowsOfGemm = {1,   8,    16,   32,   64,   128,   256,
                                                512, 1024, 2048, 4096, 8192, 16384, 32768};
constexpr int kFirstSide = 8;  // log2 of the least n and k
constexpr int kSides = 9;
/// Share of the memory's bandwidth that a kernel which reads and writes reaches: the figure that
/// aiconfigurator's systems/*.yaml give (mem_bw_empirical_scaling_factor), as is the latency.
constexpr double kShareOfBandwidth = 0.8;
constexpr double kLeastKernel = 3e-6;

struct Sustained {
  std::string_view gpu;
  double in_16_bits, in_8_bits;  ///< of the data sheet's peak
};
constexpr std::array<Sustained, 7> kSustained = {{{"a100-80gb", 0.72, 1},
                                                  {"h100-80gb", 0.625, 0.565},
                                                  {"h200-141gb", 0.625, 0.565},
                                                  {"b200-180gb", 0.55, 0.56},
                                                  {"gb200", 0.505, 0.49},
                                                  {"b300-288gb", 0.62, 0.60},
                                                  {"gb300", 0.62, 0.62}}};

struct Witness {
  std::string_view prefix, gpu;
};
/// Whose kernels are measured in the place of whose, by the beginning of the id: the same
/// architecture where there is one.
constexpr std::array<Witness, 16> kWitnesses = {{{"a100", "a100-80gb"},
                                                 {"a800", "a100-80gb"},
                                                 {"a", "a100-80gb"},
                                                 {"h200", "h200-141gb"},
                                                 {"h", "h100-80gb"},
                                                 {"gh", "h100-80gb"},
                                                 {"b300", "b300-288gb"},
                                                 {"b", "b200-180gb"},
                                                 {"gb2", "gb200"},
                                                 {"gb3", "gb300"},
                                                 {"gb1", "rtx-pro-6000"},
                                                 {"l", "l40s"},
                                                 {"rtx-pro", "rtx-pro-6000"},
                                                 {"rtx-5", "rtx-pro-6000"},
                                                 {"rtx-4", "l40s"},
                                                 {"mi", "h100-80gb"}}};

std::string_view witness_of(std::string_view gpu) {
  std::string_view found = "a100-80gb";
  std::size_t longest = 0;
  for (const Witness& w : kWitnesses)
    if (gpu.starts_with(w.prefix) && w.prefix.size() >= longest) {
      found = w.gpu;
      longest = w.prefix.size();
    }
  return found;
}

/// Where `x` lies among powers of two from 2^first, as a place and how far it is to the next.
struct Place {
  int at = 0;
  double beyond = 0;
};

Place place_of(double x, int first, int count) {
  const double log = std::clamp(std::log2(std::max(x, 1e-30)) - first, 0.0, count - 1.0);
  const int at = std::min(static_cast<int>(log), std::max(count - 2, 0));
  return {at, log - at};
}

double between(std::span<const float> row, Place p) {
  const auto at = static_cast<std::size_t>(p.at);
  const double a = row[at], b = row[std::min(at + 1, row.size() - 1)];
  return a + (b - a) * p.beyond;
}

}  // namespace

std::span<const float> Kernels::row(std::string_view kind, std::string_view words) const {
  for (const KernelRow& r : data::kernel_rows())
    if (r.kind == kind && r.gpu == witness_ && r.words == words)
      return data::kernel_figures().subspan(r.first, r.count);
  return {};
}

Kernels::Kernels(const Machine& machine) : machine_(machine), witness_(witness_of(machine.gpu)) {
  measured_ = witness_ == machine.gpu;
  const Result<Gpu> witness = find_gpu(witness_);
  related_ = witness && witness->capability() / 10 == machine.capability / 10;
  constexpr std::array<std::string_view, 4> kTypes = {"bf16", "fp8", "fp8_block", "nvfp4"};
  for (std::size_t t = 0; t < kTypes.size(); ++t)
    for (std::size_t i = 0; i < kRowsOfGemm.size(); ++i) {
      tables_[t].rows[i] = row("gemm", fmt::format("{} {}", kTypes[t], kRowsOfGemm[i]));
      tables_[t].known = !tables_[t].rows[i].empty();
    }
  constexpr std::array<std::string_view, 3> kDims = {"64", "128", "256"};
  for (std::size_t i = 0; i < kDims.size(); ++i) context_[i] = row("context", kDims[i]);
  latent_context_ = row("latent_context", "");
  generation_ = row("generation", "");
  latent_generation_ = row("latent_generation", "");
  constexpr std::array<std::string_view, 6> kExperts = {"bf16",  "fp8",   "fp8_block",
                                                        "nvfp4", "w4a16", "w4a8"};
  for (std::size_t t = 0; t < kExperts.size(); ++t) {
    experts_[0][t] = row("experts", fmt::format("{} balanced", kExperts[t]));
    experts_[1][t] = row("experts", fmt::format("{} power_law_1.2", kExperts[t]));
  }
}

const Kernels::Table& Kernels::table(Compute compute) const {
  std::size_t at = 0;
  if (compute == Compute::fp8) at = 1;
  if (compute == Compute::mxfp8) at = tables_[2].known ? 2 : 1;
  if (compute == Compute::nvfp4) at = 3;
  return tables_[at].known ? tables_[at] : tables_[0];
}

double Kernels::share(const Table& table, const Gemm& g) const {
  std::size_t i = 0;
  while (i + 2 < kRowsOfGemm.size() && kRowsOfGemm[i + 1] <= g.m) ++i;
  const double span = std::log2(kRowsOfGemm[i + 1] / kRowsOfGemm[i]);
  const double beyond = std::clamp(std::log2(std::max(g.m, 1.0) / kRowsOfGemm[i]) / span, 0.0, 1.0);
  const Place n = place_of(g.n, kFirstSide, kSides), k = place_of(g.k, kFirstSide, kSides);
  const auto side = [&](std::span<const float> row, int at_n) {
    return between(row.subspan(static_cast<std::size_t>(at_n * kSides), kSides), k);
  };
  const auto at_row = [&](std::size_t r) {
    const double a = side(table.rows[r], n.at);
    return a + (side(table.rows[r], std::min(n.at + 1, kSides - 1)) - a) * n.beyond;
  };
  const double a = at_row(i);
  return (a + (at_row(i + 1) - a) * beyond) / 1000.0;
}

/// What the card does a second in these numbers, or in the nearest ones that it has.
double Kernels::peak(Compute compute) const {
  for (const Compute each : {compute, Compute::bf16, Compute::fp16})
    if (const double known = machine_.peak(each); known > 0) return known;
  return machine_.peak(Compute::fp32);
}

double Kernels::roofline(double flops, double bytes, Compute compute) const {
  return std::max(flops / peak(compute), bytes / (machine_.speeds.memory_gb_s * 1e9));
}

double Kernels::gemm(const Gemm& g, Compute compute) const {
  const double b = bytes_of(compute);
  const double weight = g.weight_bytes > 0 ? g.weight_bytes : b;
  const double roof =
      roofline(2 * g.m * g.n * g.k, b * g.m * g.k + weight * g.n * g.k + 2 * g.m * g.n, compute);
  const Table& shares = table(compute);
  if (!shares.known) return roof / 0.6;
  // A narrower side than any that was measured wastes the tiles it does not fill.
  const double narrow = std::min(1.0, g.n / (1 << kFirstSide)) * std::min(1.0, g.k / 256.0);
  const double time = roof / std::max(share(shares, g) * std::sqrt(narrow), 1e-3);
  return std::max(time, 2 * g.m * g.n * g.k / sustained(compute));
}

/// What the card keeps up for as long as a step lasts: microbenchmarks end before its power limit
/// lowers the clock (docs/time.md says from which steps these shares are).
double Kernels::sustained(Compute compute) const {
  const bool is_half = compute == Compute::bf16 || compute == Compute::fp16;
  double share = 1;
  for (const Sustained& s : kSustained)
    if (s.gpu == witness_) share = is_half ? s.in_16_bits : s.in_8_bits;
  if (compute == Compute::nvfp4 || compute == Compute::fp32 || compute == Compute::tf32) share = 1;
  return std::max(peak(compute), 1.0) * share;
}

double Kernels::experts(const Experts& e, Compute compute) const {
  const double per = e.picks / std::max(e.local, 1.0);
  const double touched = e.local * (1 - std::exp(-per));
  double weight = e.weights_only ? 0.53125 : bytes_of(compute);
  const double roof = roofline(2 * e.matrices * e.picks * e.hidden * e.width,
                               e.matrices * touched * e.hidden * e.width * weight, compute);
  std::size_t type = 0;
  if (e.weights_only)
    type = compute == Compute::bf16 ? 4 : 5;
  else if (compute == Compute::fp8)
    type = 1;
  else if (compute == Compute::mxfp8)
    type = 2;
  else if (compute == Compute::nvfp4)
    type = 3;
  std::span<const float> shares = experts_[e.balanced ? 0 : 1][type];
  if (shares.empty()) shares = experts_[0][type];
  if (shares.empty()) shares = experts_[0][0];
  if (shares.empty()) return roof / 0.4 + kLeastKernel;
  const Place at = place_of(per, 0, 15);
  const Place length = place_of(std::sqrt(roof / kKernelMicrosecond), 0, 8);
  const auto of = [&](int row) {
    return between(shares.subspan(static_cast<std::size_t>(row * 8), 8), length);
  };
  const double share = of(at.at) + (of(std::min(at.at + 1, 14)) - of(at.at)) * at.beyond;
  return roof / std::max(share / 1000, 1e-3);
}

namespace {

/// FlashAttention-2 reaches some 350 TFLOPS, on Hopper and what came after: it was written for
/// Ampere's instructions (FlashAttention-3, section 4.1 and figure 5).
double share_of_second(const Machine& machine) {
  constexpr double kFlopsOfSecond = 350e12;
  return kFlopsOfSecond / std::max(machine.peak(Compute::bf16), 1.0);
}

/// The first FlashAttention reaches 30 to 50 % of an A100's peak in its forward and 25 to 35 % in
/// its backward, where the second reaches up to 73 % (FlashAttention-2, sections 1 and 4.1): the
/// middle of what is said.
constexpr double kForwardOfFirst = 0.40, kBackwardOfFirst = 0.30, kForwardOfSecond = 0.73;
/// Five products for two.
constexpr double kProductsOfBackward = 2.5;

}  // namespace

/// The second version's and the newest's backward reaches four fifths of the forward's rate
/// (FlashAttention-2, table of section 4.1; FlashAttention-3, figures 5 and 6).
double Kernels::backward_of_attention(FlashAttention version) {
  const double rate = version == FlashAttention::first ? kBackwardOfFirst / kForwardOfFirst : 0.8;
  return kProductsOfBackward / rate;
}

double Kernels::context_attention(double flops, double length, std::int64_t head_dim,
                                  FlashAttention version) const {
  const std::size_t i = head_dim <= 64 ? 0 : head_dim <= 192 ? 1 : 2;
  std::span<const float> shares = context_[i].empty() ? context_[1] : context_[i];
  double share = shares.empty() ? 0.4 : between(shares, place_of(length, 6, 9)) / 1000;
  const bool is_newer = !witness_.starts_with("a") && !witness_.starts_with("l");
  if (version != FlashAttention::newest && is_newer)
    share = std::min(share, share_of_second(machine_));
  if (version == FlashAttention::first)
    share = std::min(share, kForwardOfFirst / kForwardOfSecond *
                                (is_newer ? share_of_second(machine_) : kForwardOfSecond));
  return roofline(flops, 0, Compute::bf16) / share + kLeastKernel;
}

double Kernels::latent_context_attention(double flops, double length) const {
  const double share =
      latent_context_.empty() ? 0.4 : between(latent_context_, place_of(length, 6, 9)) / 1000;
  return roofline(flops, 0, Compute::bf16) / share + kLeastKernel;
}

double Kernels::generation_attention(double bytes, double flops) const {
  const double share =
      generation_.empty() ? 0.7 : between(generation_, place_of(bytes, 14, 21)) / 10000;
  return roofline(flops / 4, bytes, Compute::bf16) / std::max(share, 1e-5);
}

double Kernels::latent_generation_attention(double bytes, double flops) const {
  const double roof = roofline(flops, bytes, Compute::bf16);
  const double share = latent_generation_.empty()
                           ? 0.6
                           : between(latent_generation_, place_of(roof * 1e9, 4, 19)) / 10000;
  return roof / std::max(share, 1e-5);
}

double Kernels::elementwise(double bytes) const {
  return bytes <= 0 ? 0 : bytes / (machine_.speeds.memory_gb_s * 1e9 * kShareOfBandwidth);
}

}  // namespace memtape::time
