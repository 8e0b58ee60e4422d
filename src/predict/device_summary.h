// SPDX-License-Identifier: Apache-2.0
// The device as an answer names it, and where its two figures come from.
#pragma once

#include <optional>

#include "mesh/device_setup.h"
#include "outcome/answer_parts.h"

namespace memtape {

/// Empty if neither a GPU nor a total was named.
std::optional<DeviceSummary> device_summary(const DeviceSetup& device);

}  // namespace memtape
