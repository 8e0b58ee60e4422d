// SPDX-License-Identifier: Apache-2.0
// FlatLayout: how the parameters of a unit lie in its flat tensor
// (FlatParamHandle._init_flat_param_and_metadata): one behind the other, with use_orig_params each
// at a multiple of 16 bytes and the end at a multiple of the ranks; and what of each a rank's equal
// piece holds.
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
  std::optional<std::size_t> parameter;  ///< none: padding
};

struct FlatLayout {
  std::vector<FlatPiece> pieces;
  std::int64_t numel = 0;

  /// The part [begin, end) of the flat tensor that each parameter shares with [first, last), in
  /// the order of the parameters; empty parts have end <= begin.
  struct Part {
    std::int64_t begin = 0, end = 0;
    std::int64_t length() const { return end > begin ? end - begin : 0; }
  };
  std::vector<Part> within(std::int64_t first, std::int64_t last) const;
};

/// Of parameters of these sizes that are gathered in `gathered`.
FlatLayout flat_layout(std::span<const std::int64_t> sizes, const Options& options, DType gathered);

}  // namespace memtape::fsdp1
