// SPDX-License-Identifier: Apache-2.0
// Freezing: parameters whose names match a glob are not trained (p.requires_grad_(False) before the
// optimizer is made).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "nn/module.h"

namespace memtape::torch {

/// Python's fnmatch.fnmatchcase: * stands for any characters, ? for any one, [abc] for one of
/// these, [a-c] for one of a range, and [!abc] for none of these.
bool fnmatch(std::string_view name, std::string_view pattern);

/// In the place of a glob: the towers of a model with images or speech, and what leads from them to
/// its text. Of a model of text alone it is nothing.
inline constexpr std::string_view kTowers = "towers";

/// Freezes the parameters that match any of the globs, as a loop over named_parameters() does. A
/// glob that matches none is an error.
Result<void> freeze(const std::vector<nn::ModuleNode::Named>& parameters,
                    const std::vector<std::string>& globs);

/// Trains only the parameters of the last `layers` layers out of `of`; if `layers` is negative,
/// those of the first -`layers` layers. A parameter belongs to a layer if the layer's number is a
/// part of its name (LLaMA-Factory 0.9.5, model/adapter.py, _setup_freeze_tuning).
void train_layers_alone(const std::vector<nn::ModuleNode::Named>& parameters, std::int64_t layers,
                        std::int64_t of);

/// param.data = param.data.to(torch.float32) for each parameter that is trained.
void upcast_trained(const std::vector<nn::ModuleNode::Named>& parameters);

}  // namespace memtape::torch
