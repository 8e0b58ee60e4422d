// SPDX-License-Identifier: Apache-2.0
// cuDNN: its kernels choose their algorithms, and with them their workspace, by rules that are not
// published, so there is nothing to stand in with. Programs may ask for its version and make
// handles; every operation is refused as unsupported, and the run's report says which.
#include <cstdio>
#include <cstdlib>

#include "core/export.h"
#include "core/settings.h"

using namespace memtape::phantom;

namespace {

int handle;

/// The version of the cuDNN beside the program's torch, which `memtape run` looks up: torch
/// compares it with its own.
std::size_t version() {
  const char* given = std::getenv("MEMTAPE_PHANTOM_CUDNN");
  return given && *given ? std::strtoull(given, nullptr, 10) : 91900;
}

}  // namespace

PHANTOM_ENTRY std::size_t cudnnGetVersion() { return version(); }
PHANTOM_ENTRY std::size_t cudnnGetCudartVersion() {
  return static_cast<std::size_t>(settings().runtime ? settings().runtime : 13000);
}
PHANTOM_ENTRY int cudnnGetProperty(int property, int* value) {
  const auto number = static_cast<int>(version());
  *value = property == 0 ? number / 10000 : property == 1 ? number / 100 % 100 : number % 100;
  return 0;
}
PHANTOM_ENTRY const char* cudnnGetErrorString(int status) {
  return status == 0 ? "CUDNN_STATUS_SUCCESS"
                     : "CUDNN_STATUS_NOT_SUPPORTED: cuDNN does not run on a phantom GPU";
}
PHANTOM_ENTRY void cudnnGetLastErrorString(char* text, std::size_t length) {
  std::snprintf(text, length, "cuDNN does not run on a phantom GPU");
}
PHANTOM_ENTRY int cudnnCreate(void** made) {
  *made = &handle;
  return 0;
}
PHANTOM_ENTRY int cudnnDestroy(void*) { return 0; }
PHANTOM_ENTRY int cudnnSetStream(void*, void*) { return 0; }
