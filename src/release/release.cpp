// SPDX-License-Identifier: Apache-2.0
#include "release/release.h"

namespace memtape {

Release::Release() {
  for (const PackageFacts& facts : packages()) set(facts.package, facts.newest);
}

}  // namespace memtape
