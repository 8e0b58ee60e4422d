// SPDX-License-Identifier: Apache-2.0
// cuBLASLt: descriptors are empty boxes; the heuristic offers one algorithm that needs no workspace
// of its own. The workspace that PyTorch hands to cublasLtMatmul does not depend on the answer.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/export.h"
#include "core/settings.h"

using namespace memtape::phantom;

namespace {

constexpr std::size_t kDescriptorBytes = 512;  ///< larger than each of the library's

/// Handles differ: PyTorch keeps a workspace for each.
int make(void** made) {
  *made = new char;
  return 0;
}

int box(void** made) {
  *made = std::calloc(1, kDescriptorBytes);
  return 0;
}
int unbox(void* made) {
  std::free(made);
  return 0;
}

/// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  std::uint64_t algorithm[8];
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

}  // namespace

PHANTOM_ENTRY int cublasLtCreate(void** made) { return make(made); }
PHANTOM_ENTRY int cublasLtDestroy(void* made) {
  delete static_cast<char*>(made);
  return 0;
}
PHANTOM_ENTRY std::size_t cublasLtGetVersion() {
  return static_cast<std::size_t>(settings().runtime ? settings().runtime : PHANTOM_CUDA * 1000) *
         10;
}
PHANTOM_ENTRY std::size_t cublasLtGetCudartVersion() { return cublasLtGetVersion() / 10; }
PHANTOM_ENTRY int cublasLtMatmulDescCreate(void** made, int, int) { return box(made); }
PHANTOM_ENTRY int cublasLtMatmulDescDestroy(void* made) { return unbox(made); }
PHANTOM_ENTRY int cublasLtMatrixLayoutCreate(void** made, int, std::uint64_t, std::uint64_t,
                                             std::int64_t) {
  return box(made);
}
PHANTOM_ENTRY int cublasLtMatrixLayoutDestroy(void* made) { return unbox(made); }
PHANTOM_ENTRY int cublasLtMatrixTransformDescCreate(void** made, int) { return box(made); }
PHANTOM_ENTRY int cublasLtMatrixTransformDescDestroy(void* made) { return unbox(made); }
PHANTOM_ENTRY int cublasLtMatmulPreferenceCreate(void** made) { return box(made); }
PHANTOM_ENTRY int cublasLtMatmulPreferenceDestroy(void* made) { return unbox(made); }
PHANTOM_ENTRY int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*,
                                                 int, Heuristic* results, int* count) {
  std::memset(results, 0, sizeof *results);
  *count = 1;
  return 0;
}
