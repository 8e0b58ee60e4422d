// SPDX-License-Identifier: Apache-2.0
// The parameters that a family builds from a configuration. They are compared with what a
// checkpoint stores.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "family/pretrained.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch {

struct BuiltParameter {
  std::string name;
  std::vector<std::int64_t> shape;
  bool is_tied = false;  ///< checkpoints store its matrix under another parameter's name
};

/// The task for which the configuration's family is trained if none is named: that of the class
/// that its `architectures` names; else causal-lm, unless the family has no such head.
family::Task default_task(const Config& config);

/// Every name of every parameter. Tied parameters are listed under each of their names.
Result<std::vector<BuiltParameter>> built_parameters(const Config& config,
                                                     const TrainRecipe& recipe);

}  // namespace memtape::torch
