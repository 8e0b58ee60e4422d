// SPDX-License-Identifier: Apache-2.0
// The generated tables of names that configurations set (data/settings).
#pragma once

#include "launch/settings/settings.h"

namespace memtape::data {

launch::KnownNames accelerate_names();
launch::KnownNames axolotl_names();
launch::KnownNames examples_names();
launch::KnownNames litgpt_names();
launch::KnownNames llama_factory_names();
launch::KnownNames nanogpt_names();
launch::KnownNames no_trainer_names();
launch::KnownNames run_clm_names();
launch::KnownNames torchtitan_names();
launch::KnownNames torchtune_names();
launch::KnownNames trl_names();

}  // namespace memtape::data
