// SPDX-License-Identifier: Apache-2.0
// What changed between releases of torch, as far as memory shows it.
#pragma once

#include "release/release.h"

namespace memtape::changes {}  // namespace memtape::changes
