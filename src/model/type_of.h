// SPDX-License-Identifier: Apache-2.0
// The name of a model's family: transformers' `model_type`, as its configuration states it.
#pragma once

#include <string>

#include "model/config.h"

namespace memtape {

/// Empty where the configuration names none.
std::string type_of(const Config& config);

/// The same of the language model: of its text_config, where there is one that names a type.
std::string text_type_of(const Config& config);

}  // namespace memtape
