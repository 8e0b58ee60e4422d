// SPDX-License-Identifier: Apache-2.0
// WhatIf: the recorded requests once more, from an empty allocator, under other settings of
// PYTORCH_ALLOC_CONF. What was there before the first event is allocated first, in order of
// address.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "evidence/held.h"

namespace memtape {

struct WhatIf {
  std::string setting;  ///< "expandable_segments:True"; "" for the recorded settings
  Levels peak;
  std::int64_t retries = 0;
  /// Under the limit of a run that ran out: whether the request that failed is served now.
  std::optional<bool> serves;
};

/// The recorded settings first, then each that might help. `limit`: all that the allocator could
/// get, where the recording ran out; kUnlimited otherwise.
std::vector<WhatIf> what_if(const Recording& recording, const Held& held, Bytes limit);

}  // namespace memtape
