// SPDX-License-Identifier: Apache-2.0
// Bounds: how far the device peak may lie from the prediction. Each cause of a deviation that is
// known but not modelled widens them, and is named.
#pragma once

#include "predict/train.h"

namespace memtape {

Bounds bounds_of(const Tape& tape, const DeviceSetup& device, const RankReport& rank);

}  // namespace memtape
