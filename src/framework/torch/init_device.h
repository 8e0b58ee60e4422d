// SPDX-License-Identifier: Apache-2.0
// Where a program makes its model, and how the model gets from there to the GPU. A tensor that is
// made in host memory or on the meta device has no storage here until it is moved.
//
// The wrapper decides what is moved and when: module.to("cuda") moves a whole model
// (nn.Module._apply), and FSDP moves one unit at a time, just before it divides the unit
// (torch/distributed/fsdp/_init_utils.py and _fully_shard/_fsdp_init.py, _move_states_to_device).
#pragma once

#include <vector>

#include "nn/module.h"
#include "workload/step_choices.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch {

/// The device that was asked for. If none was, Trainer's FSDP divides what from_pretrained left in
/// host memory, and other programs are assumed to make their model on the GPU.
InitDevice init_device(const TrainRecipe& recipe);

/// module.to("cuda") or module.to_empty(device="cuda"). It moves what the children hold first.
void move_to_device(const nn::ModuleNode& root);

/// Moves what these modules hold themselves: first all parameters, then all buffers.
void move_states_to_device(const std::vector<const nn::ModuleNode*>& modules);

/// Moves the buffers that this module holds itself.
void move_buffers_to_device(const nn::ModuleNode& module);

}  // namespace memtape::torch
