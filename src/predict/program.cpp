// SPDX-License-Identifier: Apache-2.0
#include "predict/program.h"

#include "framework/torch/built_parameters.h"
#include "framework/transformers/trainer.h"

namespace memtape {

Result<torch::TrainRun> run_program(const Config& config, const TrainRecipe& recipe,
                                    const ghost::DeviceTraits& device) {
  if (recipe.framework == Framework::transformers)
    return transformers::run_trainer(config, recipe, device);
  return torch::run_training(config, recipe, device);
}

TrainRecipe resolved(TrainRecipe recipe, const Config& config) {
  if (!recipe.names_task) recipe.task = torch::default_task(config);
  if (recipe.framework != Framework::transformers || recipe.weights) return recipe;
  const std::string stored = config.text("dtype", config.text("torch_dtype", "float32"));
  recipe.weights = stored == "bfloat16"  ? DType::bfloat16
                   : stored == "float16" ? DType::float16
                                         : DType::float32;
  return recipe;
}

}  // namespace memtape
