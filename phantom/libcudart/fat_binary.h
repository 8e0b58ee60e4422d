// SPDX-License-Identifier: Apache-2.0
// FatBinary: the code of a compilation unit for several architectures. The runtime registers it at
// load time; the stand-in runs none of it and only asks which architectures it was compiled for: a
// kernel reports the one that would run, and CUB picks its temporary storage by it.
//
//   wrapper -> { header | entry header, code | entry header, code | ... }
#pragma once

#include <vector>

namespace memtape::phantom {

/// Architectures (80 for 8.0) of the machine code in it, or of its PTX where it holds no machine
/// code.
std::vector<int> architectures_of(const void* wrapper);

/// The architecture whose code a device runs: the largest of its own generation that is not above
/// it, else the largest below it.
int architecture_for(const std::vector<int>& architectures, int capability);

}  // namespace memtape::phantom
