// SPDX-License-Identifier: Apache-2.0
// from_pretrained(..., quantization_config=BitsAndBytesConfig(...)) of transformers
// 5.17 (core_model_loading.py): the model is laid out without memory, then tensors arrive in the
// natural order of their names, each linear layer's weight quantized as it comes. And what peft
// does to such a model before training.
#pragma once

#include <memory>

#include "base/result.h"
#include "family/pretrained.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// Elements that packing has hidden from the sizes of weights.
struct QuantizedModel {
  std::unique_ptr<family::PretrainedModel> model;
  std::int64_t packed_away = 0;
  ghost::Tensor dynamic_map;  ///< bitsandbytes.functional.name2qmap
};

Result<QuantizedModel> load_quantized(const Config& config, const TrainRecipe& recipe);

/// Whether peft.prepare_model_for_kbit_training is taken to be called. trl's trainers do without,
/// and so do programs over FSDP, whose flat tensors are of one dtype.
bool prepares_for_kbit(const TrainRecipe& recipe);

/// peft.prepare_model_for_kbit_training: everything frozen, and half types cast to float32 unless
/// GPTQ packed the layers.
void prepare_model_for_kbit_training(family::PretrainedModel& model, bool casts);

}  // namespace memtape::transformers
