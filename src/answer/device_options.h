// SPDX-License-Identifier: Apache-2.0
// The options that describe the device. train and serve share them.
#pragma once

#include <span>

#include "answer/outside.h"
#include "base/result.h"
#include "option/given.h"
#include "serving/serve_engine.h"

namespace memtape::answer {

using OptionValues = std::span<const NamedValue>;

/// The device that --gpu, --gpu-memory-bytes, --context-bytes, --driver-placement and
/// PYTORCH_ALLOC_CONF describe; it is one device. Variables in `environment`, which a launch
/// command sets, take precedence over those outside.
Result<DeviceSetup> device_of(OptionValues values, OptionValues environment,
                              const Outside& outside);

}  // namespace memtape::answer
