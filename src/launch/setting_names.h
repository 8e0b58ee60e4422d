// SPDX-License-Identifier: Apache-2.0
// The generated tables of names that configurations set (data/settings).
#pragma once

#include "formats/settings.h"

namespace memtape::data {

KnownNames accelerate_names();
KnownNames axolotl_names();
KnownNames examples_names();
KnownNames litgpt_names();
KnownNames llama_factory_names();
KnownNames nanogpt_names();
KnownNames no_trainer_names();
KnownNames run_clm_names();
KnownNames torchtitan_names();
KnownNames torchtune_names();
KnownNames trl_names();

}  // namespace memtape::data
