// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/gemm_4bit.h"

namespace memtape::transformers {
namespace {

constexpr std::int64_t kMostRows = 1536;                ///< _gemm_4bit_custom_max_m
constexpr std::int64_t kSmallWeight = 4 * 1024 * 1024;  ///< elements
constexpr std::int64_t kFewestRows = 8, kBlockSize = 64;

struct Shape {
  std::int64_t m, n, k, blocks, sms;
};

bool small_weight(const Shape& s, bool sm80) {
  if (s.k * 2 < s.n) {
    const bool low_wave = s.blocks * 3 < s.sms;
    if (sm80) return s.m <= (low_wave ? 1536 : 512);
    return s.m <= (low_wave ? 512 : 320);
  }
  const bool quarter_wave = s.blocks * 4 <= s.sms;
  if (sm80 && quarter_wave) {
    if (s.k >= s.n) return s.m <= (s.blocks * 8 <= s.sms ? 32 : 128);
    return s.m <= 384;
  }
  if (quarter_wave) return s.m <= 32;
  return s.blocks * 2 <= s.sms && s.m <= 16;
}

bool large_weight_sm80(const Shape& s) {
  if (s.blocks >= s.sms * 3) return s.m <= 128;
  if (s.blocks >= s.sms) return s.m <= (s.k < s.n ? 64 : 32);
  if (s.k >= s.n * 3 && s.blocks * 4 > s.sms) return false;
  if (s.k == s.n && s.blocks >= 48 && s.blocks * 5 < s.sms * 3) return false;
  if (s.blocks * 2 < s.sms) {
    if (s.k <= s.n) return s.m <= 128;
    if (s.blocks * 3 >= s.sms) return false;
  }
  if (s.blocks >= s.sms / 2 && s.k < s.n) return s.m <= 128;
  return s.m <= 16;
}

bool large_weight_sm90(const Shape& s) {
  if (s.blocks >= s.sms * 3) return s.m <= 64;
  if (s.blocks >= s.sms * 2) return s.m <= 48;
  if (s.blocks >= s.sms) return s.m <= 32;
  if (s.blocks < s.sms / 2) return false;
  return !(s.k >= s.n && s.blocks * 4 < s.sms * 3) && s.m <= 16;
}

}  // namespace

std::optional<bool> uses_gemm_4bit_kernel(const ghost::DeviceTraits& device, std::int64_t rows,
                                          std::int64_t out, std::int64_t in) {
  if (rows > kMostRows || in % kBlockSize != 0) return false;
  const bool sm80 = device.major == 8 && device.minor == 0, sm90 = device.major == 9;
  if (rows < kFewestRows || (!sm80 && !sm90)) return std::nullopt;
  const Shape shape{rows, out, in, (out + 63) / 64, device.sm_count};
  if (out * in < kSmallWeight) return small_weight(shape, sm80);
  if (rows > 512) return false;
  return sm80 ? large_weight_sm80(shape) : large_weight_sm90(shape);
}

}  // namespace memtape::transformers
