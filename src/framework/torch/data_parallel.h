// SPDX-License-Identifier: Apache-2.0
// torch.nn.DataParallel (torch 2.15, nn/parallel/data_parallel.py) as its first GPU sees it: one
// process runs a replica of the model on each of its GPUs. The first GPU holds the whole batch, the
// parameters themselves, what the optimizer has, and the outputs of all replicas, so that it is the
// fullest.
//
// Its replica's parameters are the parameters, as outputs of one function, Broadcast. That function
// hands the gradients of all replicas on at once, so each backward has them all, and then their
// sums.
#pragma once

#include <cstdint>
#include <memory>

#include "framework/torch/train_loop.h"

namespace memtape::torch {

std::unique_ptr<DrivenModel> data_parallel(family::PretrainedModel& model, std::int64_t gpus);

}  // namespace memtape::torch
