// SPDX-License-Identifier: Apache-2.0
// Plans: which style each module of a model gets. `colrow` is the plan of torch's tutorials and of
// torchtitan for decoders. `hf` is what transformers itself says about a family (base_model_tp_plan
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
  std::string module;  ///< the full name; `*` stands for the number of a layer
  Style style;
};
using Plan = std::vector<PlannedStyle>;

/// The style of the plan for the module with that name. It is null if the module is left as it is.
const PlannedStyle* planned_for(const Plan& plan, std::string_view module);

/// The embedding is divided by rows; attention and MLP by columns and then by rows; the head by
/// columns, and its logits are gathered unless the loss is parallel. With sequence_parallel, the
/// tensors between these are divided along the sequence.
Plan colrow_plan(bool sequence_parallel, bool loss_parallel);

/// What transformers' plan adds if the head shares the embedding's table.
PlannedStyle hf_tied_embedding();

/// transformers' plan for the family of a configuration. It is an Error if the family has none, or
/// if the plan has special styles for experts.
Result<Plan> hf_plan(const Config& config);

}  // namespace memtape::torch_tp
