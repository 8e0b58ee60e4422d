// SPDX-License-Identifier: Apache-2.0
// What Trainer (transformers 5.17, integrations/deepspeed.py) and accelerate (1.15,
// utils/deepspeed.py) make of a ds_config. Where it says "auto", mixed precision, batch and
// clipping come from TrainingArguments. Nothing runs under autocast.
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

/// What a ds_config says about ZeRO, read before the model is known. It is empty if there is none.
struct SaidZero {
  std::int64_t stage = 0;
  bool offloads_optimizer = false, offloads_parameters = false;
};
SaidZero said_zero(const TrainRecipe& recipe);

/// The recipe as the engine sees it.
TrainRecipe engine_recipe(const TrainRecipe& recipe);

/// The recipe as Trainer's own code sees it: DeepSpeed casts the model, accelerate does not. Over
/// ZeRO 3, trl's trainers except CPO's and ORPO's force models with adapters to reentrant
/// checkpoints.
TrainRecipe trainer_recipe(TrainRecipe recipe);

/// The ds_config for the engine of the model, and the one for trl's reference beside it, which has
/// an engine only over ZeRO 3. There are none without DeepSpeed.
struct Engines {
  std::optional<deepspeed::DsConfig> trained, reference;
};
/// They are read once for all ranks.
Result<Engines> read_engines(const Config& config, const TrainRecipe& recipe);
/// The engines as one rank has them: each engine of ZeRO 3 has its own zero.Init, which partitions
/// parameters.
Engines engines_of_rank(Engines engines, const TrainRecipe& recipe);

/// The model with its adapters. Over ZeRO 3 it is made under zero.Init (from_pretrained, with
/// TrainingArguments parsed before it).
Result<std::unique_ptr<family::PretrainedModel>> make_model(
    const Config& config, const TrainRecipe& recipe,
    const std::optional<deepspeed::DsConfig>& engine);

/// Whether the engine partitions parameters, which ZeRO 3 does.
bool cuts_parameters(const TrainRecipe& recipe);

/// The second group of Trainer's optimizer: the parameters without weight decay. An optimizer that
/// the ds_config names has only one group.
std::vector<ghost::Tensor> second_group(family::PretrainedModel& model, const TrainRecipe& recipe);

Result<void> check_deepspeed(const TrainRecipe& recipe);

}  // namespace memtape::transformers
