// SPDX-License-Identifier: Apache-2.0
// The options that say what device there is; train and serve share them.
#pragma once

#include <span>

#include "answer/outside.h"
#include "base/result.h"
#include "option/given.h"
#include "serving/serve_engine.h"

namespace memtape::answer {

using OptionValues = std::span<const NamedValue>;

/// The device of --gpu, --gpu-memory-bytes, --context-bytes, --driver-placement and
/// PYTORCH_ALLOC_CONF; one of them. What `environment` (a launch command) sets goes before the
/// variables outside.
Result<ServeDevice> device_of(OptionValues values, OptionValues environment,
                              const Outside& outside);

}  // namespace memtape::answer
