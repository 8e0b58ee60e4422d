// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/gemm_4bit.h"

namespace memtape::transformers {
namespace {

constexpr std::int64_t kAlwaysRows = 4;   ///< _GEMM_4BIT_CUSTOM_FLOOR_M
constexpr std::int64_t kMostRows = 1536;  ///< _gemm_4bit_custom_max_m
constexpr std::int64_t kMostRowsOfLargeWeights = 512, kRowsWithoutTensorCores = 8;
constexpr std::int64_t kSmallWeight = 4 * 1024 * 1024;  ///< elements
constexpr std::int64_t kGemmBlockSize = 64;

/// A product, and how many waves of blocks of 64 outputs the GPU makes of it.
struct Product {
  std::int64_t rows, out, in, blocks, sms;

  bool has_waves(std::int64_t count) const { return blocks >= sms * count; }
  bool has_half_wave() const { return blocks >= sms / 2; }
  bool has_wave_of(std::int64_t part, std::int64_t of) const { return blocks * of >= sms * part; }
  bool is_tall() const { return in > out * 2; }
};

/// Compute capabilities that have thresholds of their own; `other` is 8.9's, which stand for the
/// rest.
enum class Tier { sm75, sm80, sm86, sm90, sm120, sm121, other };

Tier tier_of(const ghost::DeviceTraits& device) {
  if (device.major == 7) return Tier::sm75;
  if (device.major == 8 && device.minor == 0) return Tier::sm80;
  if (device.major == 8 && device.minor == 6) return Tier::sm86;
  if (device.major == 9) return Tier::sm90;
  if (device.major == 12 && device.minor == 0) return Tier::sm120;
  if (device.major == 12 && device.minor == 1) return Tier::sm121;
  return Tier::other;
}

bool has_fast_memory(Tier tier) { return tier == Tier::sm80 || tier == Tier::sm90; }

/// The most rows of a small weight whose inputs are fewer than half its outputs.
std::int64_t rows_of_short(const Product& p, Tier tier) {
  const bool few_blocks = p.blocks * 3 < p.sms;
  if (tier == Tier::sm80) return few_blocks ? 1536 : 512;
  if (tier == Tier::sm90) return few_blocks ? 512 : 320;
  if (tier == Tier::sm75) {
    if (p.has_waves(3) || p.in < 704) return 320;
    return p.in >= 1024 ? 64 : 96;
  }
  return !p.has_waves(1) && p.blocks * p.in > p.sms * 320 ? 192 : 320;
}

std::int64_t rows_of_small(const Product& p, Tier tier) {
  if (p.in * 2 < p.out) return rows_of_short(p, tier);
  const bool quarter_wave = p.blocks * 4 <= p.sms;
  if (tier == Tier::sm80 && quarter_wave) {
    if (p.in < p.out) return 384;
    return p.blocks * 8 <= p.sms ? 32 : 128;
  }
  if (tier == Tier::sm75 && !p.has_waves(1) && p.rows > 8) return 64;
  if (quarter_wave) return p.in < p.out || has_fast_memory(tier) ? 32 : 23;
  return p.blocks * 2 <= p.sms ? 16 : 0;
}

/// Five to seven rows of a large weight: the kernel, but for a few shapes where memory is fast.
bool few_rows_of_large(const Product& p, Tier tier) {
  const std::int64_t fewest_blocks = tier == Tier::sm90 ? 36 : 48;
  if (!has_fast_memory(tier) || p.rows < 6 || p.blocks < fewest_blocks) return true;
  const bool below_three_quarters = !p.has_wave_of(3, 4), below_three_fifths = !p.has_wave_of(3, 5);
  if (p.in > p.out) return !below_three_quarters;
  if (p.in < p.out) return true;
  return tier == Tier::sm80 ? !below_three_fifths : !below_three_quarters || below_three_fifths;
}

std::int64_t rows_of_large_sm75(const Product& p) {
  if (p.has_waves(3)) return p.in < p.out ? 128 : 64;
  return p.has_half_wave() ? 64 : 32;
}

std::int64_t rows_of_large_sm80(const Product& p) {
  if (p.has_waves(3)) return 128;
  if (p.has_waves(1)) return p.in < p.out ? 64 : 32;
  if (p.in >= p.out * 3 && p.blocks * 4 > p.sms) return 0;
  if (p.in == p.out && p.blocks >= 48 && !p.has_wave_of(3, 5)) return 0;
  if (p.blocks * 2 < p.sms) {
    if (p.in <= p.out) return 128;
    if (p.has_wave_of(1, 3)) return 0;
  }
  return p.has_half_wave() && p.in < p.out ? 128 : 16;
}

std::int64_t rows_of_large_sm86(const Product& p) {
  if (p.has_waves(1)) return 128;
  return p.has_half_wave() ? 64 : 16;
}

std::int64_t rows_of_large_sm90(const Product& p) {
  if (p.has_waves(3)) return 64;
  if (p.has_waves(2)) return 48;
  if (p.has_waves(1)) return 32;
  if (!p.has_half_wave()) return 0;
  return p.in >= p.out && !p.has_wave_of(3, 4) ? 0 : 16;
}

/// Datacenter Blackwell has thresholds for weights of any size.
std::int64_t rows_of_sm100(const Product& p) {
  if (p.has_waves(3)) return 32;
  return p.has_waves(1) && p.in < p.out ? 8 : 0;
}

std::int64_t rows_of_large_sm120(const Product& p) {
  if (p.has_waves(3)) return 256;
  if (p.has_waves(2)) return 128;
  if (p.has_wave_of(4, 5)) return p.in >= p.out ? 96 : 64;
  if (p.has_half_wave()) return p.in * 2 >= p.out && p.blocks >= 128 ? 64 : 8;
  return p.is_tall() && p.blocks > 64 ? 16 : 8;
}

std::int64_t rows_of_large_sm89(const Product& p) {
  if (p.has_waves(3)) return 256;
  if (p.has_waves(2)) return 128;
  if (p.has_wave_of(4, 5)) {
    if (p.is_tall() || p.blocks >= 200) return 128;
    if (p.in >= p.out) return p.sms >= 60 ? 128 : 32;
    return 64;
  }
  if (p.has_half_wave()) {
    if (p.is_tall()) return 64;
    return p.blocks >= 64 ? 8 : 32;
  }
  if (p.in > p.out && p.blocks <= 48) return p.in >= p.out * 3 ? 12 : 10;
  return p.is_tall() || p.blocks < 48 ? 16 : 8;
}

std::int64_t rows_of_large(const Product& p, Tier tier) {
  switch (tier) {
    case Tier::sm75: return rows_of_large_sm75(p);
    case Tier::sm80: return rows_of_large_sm80(p);
    case Tier::sm86: return rows_of_large_sm86(p);
    case Tier::sm90: return rows_of_large_sm90(p);
    case Tier::sm120: return rows_of_large_sm120(p);
    case Tier::sm121: return p.has_waves(1) ? 256 : rows_of_large_sm89(p);
    case Tier::other: return rows_of_large_sm89(p);
  }
  return 0;
}

/// Whether its kernel has no way over tensor cores for the dtype.
bool lacks_tensor_cores(const ghost::DeviceTraits& device, DType dtype) {
  if (dtype == DType::float32 || device.major < 7) return true;
  return device.major == 7 && (device.minor < 5 || dtype != DType::float16);
}

}  // namespace

bool uses_gemm_4bit_kernel(const ghost::DeviceTraits& device, DType dtype, std::int64_t rows,
                           std::int64_t out, std::int64_t in) {
  if (rows > kMostRows || in % kGemmBlockSize != 0) return false;
  if (rows <= kAlwaysRows) return true;
  if (lacks_tensor_cores(device, dtype)) return rows < kRowsWithoutTensorCores;
  if ((device.major == 8 && device.minor == 7) || device.major == 11) return false;
  const Product product{rows, out, in, (out + kGemmBlockSize - 1) / kGemmBlockSize,
                        device.sm_count};
  if (device.major == 10) return rows <= rows_of_sm100(product);
  const Tier tier = tier_of(device);
  if (out * in < kSmallWeight) return rows <= rows_of_small(product, tier);
  if (rows > kMostRowsOfLargeWeights) return false;
  if (rows < kRowsWithoutTensorCores) return few_rows_of_large(product, tier);
  return rows <= rows_of_large(product, tier);
}

}  // namespace memtape::transformers
