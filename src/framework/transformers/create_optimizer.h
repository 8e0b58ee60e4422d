// SPDX-License-Identifier: Apache-2.0
// Trainer.create_optimizer (transformers 5.17, trainer_optimizer.py): the optimizer that
// TrainingArguments.optim names, over two groups of parameters.
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
  /// The same optimizer, if it is one of bitsandbytes'.
  const BitsAndBytesOptimizer* bitsandbytes = nullptr;
  Lomo* lomo = nullptr;  ///< the same optimizer, if it is LOMO or AdaLOMO
};

CreatedOptimizer create_optimizer(const TrainRecipe& recipe, family::PretrainedModel& model);
/// The same for a wrapped model. Its parameters correspond one by one to those of the model, or
/// they are flat parameters, all of which have weight decay because of their names.
CreatedOptimizer create_optimizer(const TrainRecipe& recipe, family::PretrainedModel& model,
                                  torch::DrivenModel& wrapper);

/// An error for settings that such an optimizer refuses, or with which it is not modelled.
Result<void> check_optim(const TrainRecipe& recipe);

}  // namespace memtape::transformers
