// SPDX-License-Identifier: Apache-2.0
// Plans: which style each module of a model gets. `colrow` is the plan of torch's tutorials and of
// torchtitan for decoders; `hf` is what transformers itself says about a family (base_model_tp_plan
// of configuration_*.py, _tp_plan of its head).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "framework/torch_tp/style.h"
#include "model/config.h"

namespace memtape::torch_tp {

enum class PlanName { colrow, hf };

struct PlannedStyle {
  std::string module;  ///< full name; `*` stands for the number of a layer
  Style style;
};
using Plan = std::vector<PlannedStyle>;

/// The module of that name among those of a plan; null: left as it is.
const PlannedStyle* planned_for(const Plan& plan, std::string_view module);

/// Embedding by rows, attention and MLP by columns, then rows; the head by columns, its logits
/// gathered unless the loss is parallel. With sequence_parallel what lies between is cut along the
/// sequence.
Plan colrow_plan(bool sequence_parallel, bool loss_parallel);

/// What transformers' plan adds where the head shares the embedding's table.
PlannedStyle hf_tied_embedding();

/// transformers' plan for a configuration's family; an Error where it has none, or one with styles
/// of its own for experts.
Result<Plan> hf_plan(const Config& config);

}  // namespace memtape::torch_tp
