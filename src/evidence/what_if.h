// SPDX-License-Identifier: Apache-2.0
// WhatIf: the recorded requests, played again from an empty allocator under other settings of
// PYTORCH_ALLOC_CONF. What existed before the first event is allocated first, in order of address.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence/held.h"

namespace memtape {

struct WhatIf {
  std::string setting;  ///< "expandable_segments:True"; "" stands for the recorded settings
  Levels peak;
  std::int64_t retries = 0;
  /// For a run that ran out of memory: whether the request that failed would be served within the
  /// same limit.
  std::optional<bool> serves;
};

/// The recorded settings first, then each setting that might help. `limit` is all that the
/// allocator could get if the recording ran out of memory, and kUnlimited otherwise.
std::vector<WhatIf> what_if(const Recording& recording, const Held& held, Bytes limit);

}  // namespace memtape
