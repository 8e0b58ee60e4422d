// SPDX-License-Identifier: Apache-2.0
// One process with several GPUs, TrainingArguments.n_gpu (transformers 5.17): each micro-batch has
// the rows of all of them. Trainer._wrap_model puts nn.DataParallel about the model, but not about a
// quantized one. accelerate prepares no model that is wrapped, so that nothing autocasts
// (_prepare_for_training: use_accelerator_prepare).
#pragma once

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// What that makes of a recipe whose weights have their dtype.
void settle_one_process(TrainRecipe& recipe);

}  // namespace memtape::transformers
