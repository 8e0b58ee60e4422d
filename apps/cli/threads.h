// SPDX-License-Identifier: Apache-2.0
// A worker for each core of the machine.
#pragma once

#include "base/workers.h"

namespace memtape::cli {

/// Their threads live for the length of one call; the thread that calls is one of them.
Workers threads();

}  // namespace memtape::cli
