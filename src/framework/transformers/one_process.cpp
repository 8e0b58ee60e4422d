// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/one_process.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "framework/transformers/trainer_recipe.h"

namespace memtape::transformers {
namespace {

/// The step in the dtype of the weights, whatever --bf16 and --fp16 say.
void without_autocast(TrainRecipe& recipe) {
  recipe.precision = recipe.weights == DType::bfloat16  ? Precision::bf16
                     : recipe.weights == DType::float16 ? Precision::fp16
                                                        : Precision::fp32;
  recipe.assumed.emplace_back(
      "under nn.DataParallel Trainer does not autocast: the step runs in the dtype of the weights");
}

}  // namespace

void settle_one_process(TrainRecipe& recipe) {
  const std::int64_t gpus = recipe.layout.replicas;
  const bool leaves_others_alone =  // TrainingArguments._setup_devices; accelerate's own loops
      recipe.layout.gpus > 1 || trainer_of(recipe).deepspeed || recipe.program.is_plain_loop;
  if (leaves_others_alone) recipe.layout.replicas = 1;
  if (recipe.layout.replicas == 1) return;
  const std::string apart = fmt::format("torchrun --nproc-per-node {} starts one for each", gpus);
  const std::string one = fmt::format("one process with {} GPUs: Trainer ", gpus);
  recipe.evaluation.batch_size *= gpus;
  if (recipe.quantization) {
    recipe.micro_batch_size *= gpus;
    recipe.layout.replicas = 1;
    recipe.assumed.push_back(
        one + "spreads no quantized model, so that one GPU has the rows of all; " + apart);
    return;
  }
  if (!recipe.is_of_trl() && !recipe.program.trains_preferences()) {
    recipe.assumed.push_back(
        one +
        "spreads each batch over them (nn.DataParallel), and this is the first "
        "of them, the fullest; " +
        apart);
    if (recipe.autocasts()) without_autocast(recipe);
    return;
  }
  recipe.layout.replicas = 1;
  recipe.not_modelled.push_back(
      one +
      "spreads each batch over them (nn.DataParallel), which is not modelled for this trainer; " +
      apart);
  recipe.not_bounded.push_back(
      fmt::format("the first of {} GPUs gathers the outputs of all (nn.DataParallel)", gpus));
}

}  // namespace memtape::transformers
