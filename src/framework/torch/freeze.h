// SPDX-License-Identifier: Apache-2.0
// Freezing: parameters whose names match a glob are not trained (p.requires_grad_(False) before the
// optimizer is made).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nn/module.h"

namespace memtape::torch {

/// Python's fnmatch.fnmatchcase: * any run, ? any one, [abc] one of, [a-c] a range, [!abc] none of.
bool fnmatch(std::string_view name, std::string_view pattern);

/// Freezes what matches any of the globs, as a loop over named_parameters() does.
void freeze(const std::vector<nn::ModuleNode::Named>& parameters,
            const std::vector<std::string>& globs);

}  // namespace memtape::torch
