// SPDX-License-Identifier: Apache-2.0
// kv_arithmetic: the size of a cache as one works it out by hand, layer group by layer group, and
// what the model's kind of attention saves against keys and values for every query head.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "workload/serve_answer.h"

namespace memtape {

/// Lines for people; none where the configuration does not say how many heads there are.
std::vector<std::string> kv_arithmetic(const ServeAnswer& answer, const Config& config);

}  // namespace memtape
