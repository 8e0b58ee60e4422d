// SPDX-License-Identifier: Apache-2.0
// What Trainer (transformers 5.17, integrations/deepspeed.py) and accelerate (1.15,
// utils/deepspeed.py) make of a ds_config: mixed precision, batch and clipping come from
// TrainingArguments where it says "auto", and nothing runs under autocast.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "family/pretrained.h"
#include "framework/deepspeed/ds_config.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::transformers {

bool runs_deepspeed(const TrainRecipe& recipe);

/// What a ds_config says of ZeRO, read before the model is known; nothing where there is none.
struct SaidZero {
  std::int64_t stage = 0;
  bool offloads_optimizer = false, offloads_parameters = false;
};
SaidZero said_zero(const TrainRecipe& recipe);

/// The recipe as the engine is to see it.
TrainRecipe engine_recipe(const TrainRecipe& recipe);

/// The recipe as Trainer's own code is to see it: DeepSpeed casts the model, accelerate does not.
/// trl's trainers but CPO's and ORPO's force adapters over ZeRO 3 to reentrant checkpoints.
TrainRecipe trainer_recipe(TrainRecipe recipe);

/// The ds_config as the engine of the model is to have it, and that of trl's reference beside it,
/// which has one over ZeRO 3 alone; none without DeepSpeed.
struct Engines {
  std::optional<deepspeed::DsConfig> trained, reference;
};
/// Read once for all ranks.
Result<Engines> read_engines(const Config& config, const TrainRecipe& recipe);
/// As one rank has them: each engine of ZeRO 3 cuts parameters by a zero.Init of its own.
Engines engines_of_rank(Engines engines, const TrainRecipe& recipe);

/// The model with its adapters; over ZeRO 3 it is made under zero.Init (from_pretrained, with
/// TrainingArguments parsed before it).
Result<std::unique_ptr<family::PretrainedModel>> make_model(
    const Config& config, const TrainRecipe& recipe,
    const std::optional<deepspeed::DsConfig>& engine);

/// Whether the engine cuts parameters: ZeRO 3.
bool cuts_parameters(const TrainRecipe& recipe);

/// The second group of Trainer's optimizer: parameters that weight decay spares. One that the
/// ds_config names has a single group.
std::vector<ghost::Tensor> second_group(family::PretrainedModel& model, const TrainRecipe& recipe);

Result<void> check_deepspeed(const TrainRecipe& recipe);

}  // namespace memtape::transformers
