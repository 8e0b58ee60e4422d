// SPDX-License-Identifier: Apache-2.0
// Device attributes by number. cudaDeviceAttr and CUdevice_attribute have the same numbers (CUDA
// runtime and driver reference manuals).
#pragma once

#include "core/export.h"

namespace memtape::phantom {

PHANTOM_CORE int device_attribute(int attribute, int device);

}  // namespace memtape::phantom
