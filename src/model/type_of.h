// SPDX-License-Identifier: Apache-2.0
// The name of a model's family: transformers' `model_type`, as its configuration states it.
#pragma once

#include <string>

#include "model/config.h"

namespace memtape {

/// It is empty if the configuration names none.
std::string type_of(const Config& config);

/// The same for the language model: the type of its text_config, if that names one.
std::string text_type_of(const Config& config);

}  // namespace memtape
