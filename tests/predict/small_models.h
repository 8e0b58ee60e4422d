// SPDX-License-Identifier: Apache-2.0
// A small configuration of each family, for properties that must hold for all of them.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "model/config.h"
#include "workload/train_recipe.h"

namespace memtape {

struct SmallModel {
  std::string name, json, layers_key;
  Task task = Task::causal_lm;

  Config config() const { return *Config::parse(json, name); }
};

/// How GoogleTest shows one.
inline void PrintTo(const SmallModel& model, std::ostream* out) { *out << model.name; }

/// One model per family and task of the registry; a family without one here fails the test that
/// asks for it.
std::vector<SmallModel> small_models();

}  // namespace memtape
