// SPDX-License-Identifier: Apache-2.0
// torch.nn.parallel.DistributedDataParallel (torch/nn/parallel/distributed.py): every rank has the
// model as it is, and a Reducer reduces its gradients. All ranks run alike.
#pragma once

#include <memory>

#include "base/result.h"
#include "framework/ddp/options.h"
#include "framework/torch/train_loop.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::ddp {

std::unique_ptr<torch::DrivenModel> wrap_model(family::PretrainedModel& model,
                                               const Options& options);

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device);

}  // namespace memtape::ddp
