// SPDX-License-Identifier: Apache-2.0
// Trainer.create_optimizer (transformers 5.17, trainer_optimizer.py): the optimizer that
// TrainingArguments.optim names, over the parameters in two groups.
#pragma once

#include <memory>

#include "family/pretrained.h"
#include "framework/torch/train_loop.h"
#include "framework/transformers/bitsandbytes_optimizer.h"
#include "framework/transformers/lomo.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

struct CreatedOptimizer {
  std::unique_ptr<torch::Optimizer> optimizer;
  const BitsAndBytesOptimizer* bitsandbytes = nullptr;  ///< the same, when it is one of theirs
  Lomo* lomo = nullptr;                                 ///< or one of these
};

CreatedOptimizer create_optimizer(const TrainRecipe& recipe, family::PretrainedModel& model);
/// The same for a wrapped model: its parameters stand one for one for those of the model, or are
/// flat ones, whose names spare none the decay.
CreatedOptimizer create_optimizer(const TrainRecipe& recipe, family::PretrainedModel& model,
                                  torch::DrivenModel& wrapper);

/// What such an optimizer refuses, or is not modelled with.
Result<void> check_optim(const TrainRecipe& recipe);

}  // namespace memtape::transformers
