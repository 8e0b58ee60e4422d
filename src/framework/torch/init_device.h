// SPDX-License-Identifier: Apache-2.0
// Where a program makes its model, and how it gets from there to the GPU. A tensor made in host
// memory, or on the meta device, has no storage here until it is moved.
//
// What is moved, and when, is the wrapper's business: module.to("cuda") takes a whole model
// (nn.Module._apply), FSDP a unit at a time, just before it is cut
// (torch/distributed/fsdp/_init_utils.py and _fully_shard/_fsdp_init.py, _move_states_to_device).
#pragma once

#include <vector>

#include "nn/module.h"
#include "workload/step_choices.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torch {

/// What was asked for; else Trainer's FSDP cuts what from_pretrained left in host memory, and
/// other programs are taken to make their model on the GPU.
InitDevice init_device(const TrainRecipe& recipe);

/// module.to("cuda") or module.to_empty(device="cuda"): what the children hold first.
void move_to_device(const nn::ModuleNode& root);

/// What these modules hold themselves: all parameters, then all buffers.
void move_states_to_device(const std::vector<const nn::ModuleNode*>& modules);

/// The buffers that this module holds itself.
void move_buffers_to_device(const nn::ModuleNode& module);

}  // namespace memtape::torch
