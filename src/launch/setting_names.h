// SPDX-License-Identifier: Apache-2.0
// The generated tables of names that configurations set (data/settings).
#pragma once

#include "launch/settings/settings.h"

namespace memtape::data {

launch::KnownNames axolotl_names();
launch::KnownNames llama_factory_names();

}  // namespace memtape::data
