// SPDX-License-Identifier: Apache-2.0
// Freezing: parameters whose names match a glob are not trained (p.requires_grad_(False) before the
// optimizer is made).
#pragma once

#include <cstdint>
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

/// Trains parameters of the last `layers` of `of` layers alone, or of the first where `layers` is
/// negative: those with the number of such a layer as a part of their names (LLaMA-Factory 0.9.5,
/// model/adapter.py, _setup_freeze_tuning).
void train_layers_alone(const std::vector<nn::ModuleNode::Named>& parameters, std::int64_t layers,
                        std::int64_t of);

/// param.data = param.data.to(torch.float32) of each that is trained.
void upcast_trained(const std::vector<nn::ModuleNode::Named>& parameters);

}  // namespace memtape::torch
