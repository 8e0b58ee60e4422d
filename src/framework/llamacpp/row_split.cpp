// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/row_split.h"

#include <algorithm>

#include "base/bytes.h"

namespace memtape::llamacpp {
namespace {

constexpr std::int64_t kRowPadding = 512;  ///< MATRIX_ROW_PADDING
constexpr Bytes kPage = Bytes{2} << 20;    ///< of device memory
constexpr Bytes kSharesPage = kPage / 2;   ///< smaller allocations lie together in one
constexpr int kVolta = 700;

}  // namespace

RowSplit::RowSplit(const Settings& s)
    : rounding_(s.device_kind == DeviceKind::rocm || s.capability >= kVolta ? 128 : 64) {
  const bool even = std::ranges::all_of(s.tensor_split, [](double share) { return share == 0; });
  float sum = 0;
  for (std::size_t gpu = 0; gpu < s.device_numbers.size(); ++gpu) {
    begins_.push_back(sum);
    const bool given = gpu < s.tensor_split.size();
    sum += even ? 1.0F : given ? static_cast<float>(s.tensor_split[gpu]) : 0.0F;
  }
  for (float& begin : begins_) begin /= sum;
}

std::int64_t RowSplit::first_row(std::int64_t rows, int gpu) const {
  if (gpu == 0) return 0;
  if (gpu == static_cast<int>(begins_.size())) return rows;
  const auto row =
      static_cast<std::int64_t>(static_cast<float>(rows) * begins_[static_cast<std::size_t>(gpu)]);
  return row - row % rounding_;
}

std::int64_t RowSplit::rows(const Weight& weight, int gpu) const {
  const std::int64_t all = weight.ne[1];
  return first_row(all, gpu + 1) - first_row(all, gpu);
}

Bytes RowSplit::bytes(const Weight& weight, int gpu) const {
  const std::int64_t here = rows(weight, gpu), columns = weight.ne[0];
  if (here <= 0) return 0;
  const std::int64_t padding = round_up(columns, kRowPadding) - columns;
  return ggml::row_size(weight.type, columns) * here + ggml::row_size(weight.type, padding);
}

Bytes RowSplit::held(Bytes bytes) { return bytes < kSharesPage ? bytes : round_up(bytes, kPage); }

}  // namespace memtape::llamacpp
