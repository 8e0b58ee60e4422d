// SPDX-License-Identifier: Apache-2.0
// Placement: how a tensor lies over the GPUs of a tensor parallel group (placement_types.py): whole
// on each, divided along a dimension into torch.chunk's pieces, or as summands that are still to be
// added up. A ghost holds the piece of one GPU, its local tensor. If pieces may be uneven, the
// sizes of the whole accompany it.
#pragma once

#include <cstdint>

#include "ghost/dims.h"

namespace memtape::torch_tp {

/// The group, and which of its GPUs this one is.
struct Mesh {
  std::int64_t size = 1, rank = 0;
};

struct Placement {
  enum class Kind { replicate, shard, partial };
  Kind kind = Kind::replicate;
  int dim = 0;  ///< the dimension that is divided; negative numbers count from the end

  bool operator==(const Placement&) const = default;
  bool is_replicate() const { return kind == Kind::replicate; }
  bool is_shard() const { return kind == Kind::shard; }
  bool is_partial() const { return kind == Kind::partial; }
};

inline constexpr Placement kReplicate{};
inline constexpr Placement kPartial{.kind = Placement::Kind::partial, .dim = 0};
constexpr Placement shard_of(int dim) { return {.kind = Placement::Kind::shard, .dim = dim}; }

}  // namespace memtape::torch_tp
