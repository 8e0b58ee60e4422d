// SPDX-License-Identifier: Apache-2.0
// One worker for each core of the machine.
#pragma once

#include "base/workers.h"

namespace memtape::cli {

/// The threads live as long as one call. The thread that calls is one of them.
Workers threads();

}  // namespace memtape::cli
