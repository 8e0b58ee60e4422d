// SPDX-License-Identifier: Apache-2.0
// The options of a tensor parallel program: how many GPUs share a layer, by which plan, and whether
// the other GPUs shard the rest by fully_shard (2D: the mesh is ("dp", "tp"), in which tp is the
// fastest axis).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "framework/fsdp2/options.h"
#include "framework/torch_tp/placement.h"
#include "framework/torch_tp/plan.h"
#include "mesh/layout.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch_tp {

struct Options {
  std::int64_t size = 1;
  PlanName plan_name = PlanName::colrow;
  bool sequence_parallel = false, loss_parallel = false;
  Plan plan;
  std::optional<fsdp2::Options> fsdp2;
  Layout layout{{}};  ///< its axes are "shard" and "tp"

  Mesh mesh(std::int64_t rank) const { return {size, layout.coordinate(rank, "tp")}; }
};

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);
/// The options that the recipe says, with what its layout decides.
Result<Options> options_of(const Config& config, const TrainRecipe& recipe);

}  // namespace memtape::torch_tp
