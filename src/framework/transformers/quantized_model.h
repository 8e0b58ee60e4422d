// SPDX-License-Identifier: Apache-2.0
// from_pretrained(..., quantization_config=BitsAndBytesConfig(...)) of transformers 5.17
// (core_model_loading.py): the model is made without memory, then tensors arrive in the natural
// order of their names, and each linear layer's weight is quantized as it arrives. It also has what
// peft does to such a model before training.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "family/pretrained.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

/// The number of elements that the packed weights no longer show in their sizes.
struct QuantizedModel {
  std::unique_ptr<family::PretrainedModel> model;
  std::int64_t packed_away = 0;
  ghost::Tensor dynamic_map;  ///< bitsandbytes.functional.name2qmap
};

/// Whether the checkpoint holds 16-bit weights, which are packed one by one as they arrive, or
/// weights that bitsandbytes packed before.
enum class Arrives : std::uint8_t { in_16_bits, packed };

Result<QuantizedModel> load_quantized(const Config& config, const TrainRecipe& recipe,
                                      Arrives arrives = Arrives::in_16_bits);

/// Whether a trainer of trl converts the adapters of a quantized base to bfloat16 and casts nothing
/// else, as newer releases do.
bool trl_halves_adapters(const TrainRecipe& recipe);

/// Whether peft.prepare_model_for_kbit_training is assumed to be called. trl's trainers call it where
/// they do not convert the adapters; programs over FSDP do not, because their flat tensors have one
/// dtype.
bool prepares_for_kbit(const TrainRecipe& recipe);

/// peft.prepare_model_for_kbit_training: everything is frozen, and 16-bit types are cast to float32
/// unless GPTQ packed the layers.
void prepare_model_for_kbit_training(family::PretrainedModel& model, bool casts);

/// What trl does behind it under bf16 (trainer/utils.py): embeddings and head become bfloat16 again,
/// norms stay float32.
void peft_module_casting_to_bf16(family::PretrainedModel& model);

}  // namespace memtape::transformers
