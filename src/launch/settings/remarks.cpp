// SPDX-License-Identifier: Apache-2.0
#include "launch/settings/remarks.h"

#include <algorithm>
#include <iterator>

namespace memtape::launch {

void Remarks::add(Remarks more) {
  std::ranges::move(more.warnings, std::back_inserter(warnings));
  std::ranges::move(more.not_modelled, std::back_inserter(not_modelled));
}

}  // namespace memtape::launch
