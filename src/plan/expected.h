// SPDX-License-Identifier: Apache-2.0
// Kinds of layouts that people expect to see: where no plan that is shown is of one, an answer says
// what became of it.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "plan/search.h"

namespace memtape::plan {

struct Expected {
  std::string_view what;  ///< "Without a pipeline"
  std::function<bool(const Candidate&)> is_so;
};

/// With `explains` also those that were published for the model: of each framework that for the
/// number of GPUs that is nearest.
std::vector<Expected> expected_layouts(const std::vector<Field>& fields, bool explains);

}  // namespace memtape::plan
