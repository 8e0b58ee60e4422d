// SPDX-License-Identifier: Apache-2.0
// FatBinary: the code of a compilation unit for several architectures. The runtime registers it at
// load time. The stand-in runs none of this code and only asks for which architectures it was
// compiled: a kernel reports the one that would run, and CUB chooses its temporary storage by it.
//
//   wrapper -> { header | entry header, code | entry header, code | ... }
#pragma once

#include <vector>

namespace memtape::phantom {

/// The architectures (80 for 8.0) of its machine code, or of its PTX if it holds no machine code.
std::vector<int> architectures_of(const void* wrapper);

/// The architecture whose code a device runs: the largest one of the device's own generation that
/// is not above the device, or else the largest one below the device.
int architecture_for(const std::vector<int>& architectures, int capability);

}  // namespace memtape::phantom
