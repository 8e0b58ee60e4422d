// SPDX-License-Identifier: Apache-2.0
// FlatLayout: how the parameters of a unit lie in its flat tensor
// (FlatParamHandle._init_flat_param_and_metadata). They follow each other; with use_orig_params
// each begins at a multiple of 16 bytes, and the end is a multiple of the number of ranks. It also
// says what a rank's equal piece holds of each parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/dtype.h"
#include "framework/fsdp1/options.h"

namespace memtape::fsdp1 {

struct FlatPiece {
  std::int64_t numel = 0;
  std::optional<std::size_t> parameter;  ///< none stands for padding
};

struct FlatLayout {
  std::vector<FlatPiece> pieces;
  std::int64_t numel = 0;

  /// The part [begin, end) of the flat tensor that a parameter shares with [first, last), for each
  /// parameter in order. Empty parts have end <= begin.
  struct Part {
    std::int64_t begin = 0, end = 0;
    std::int64_t length() const { return end > begin ? end - begin : 0; }
  };
  std::vector<Part> within(std::int64_t first, std::int64_t last) const;
};

/// The layout of parameters with these sizes, which are gathered in the dtype `gathered`.
FlatLayout flat_layout(std::span<const std::int64_t> sizes, const Options& options, DType gathered);

}  // namespace memtape::fsdp1
