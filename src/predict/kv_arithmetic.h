// SPDX-License-Identifier: Apache-2.0
// kv_arithmetic: the size of a key-value cache worked out by hand, one group of layers at a time,
// and what the model's attention saves compared with keys and values for every query head.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "outcome/serve_answer.h"

namespace memtape {

/// The lines to print; none if the configuration does not give the number of heads.
std::vector<std::string> kv_arithmetic(const ServeAnswer& answer, const Config& config);

}  // namespace memtape
