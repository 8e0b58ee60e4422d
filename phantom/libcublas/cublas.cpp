// SPDX-License-Identifier: Apache-2.0
// cuBLAS computes nothing here. Its workspace is PyTorch's own (cublasSetWorkspace), so the
// allocator sees it; the handle's default workspace is never taken, as PyTorch replaces it before
// the first call.
#include "core/export.h"
#include "core/settings.h"

using namespace memtape::phantom;

namespace {

/// Handles differ: PyTorch keeps a workspace for each.
int make(void** made) {
  *made = new char;
  return 0;
}

int set(int* value, int to) {
  *value = to;
  return 0;
}

}  // namespace

PHANTOM_ENTRY int cublasCreate_v2(void** made) { return make(made); }
PHANTOM_ENTRY int cublasDestroy_v2(void* made) {
  delete static_cast<char*>(made);
  return 0;
}
PHANTOM_ENTRY int cublasGetMathMode(void*, int* mode) { return set(mode, 0); }
PHANTOM_ENTRY int cublasGetPointerMode_v2(void*, int* mode) { return set(mode, 0); }
PHANTOM_ENTRY int cublasGetAtomicsMode(void*, int* mode) { return set(mode, 0); }
PHANTOM_ENTRY int cublasGetSmCountTarget(void*, int* count) { return set(count, 0); }
PHANTOM_ENTRY int cublasGetVersion_v2(void*, int* version) {
  return set(version, (settings().runtime ? settings().runtime : PHANTOM_CUDA * 1000) * 10);
}
PHANTOM_ENTRY int cublasGetProperty(int property, int* value) {
  return set(value, property == 0 ? PHANTOM_CUDA : 0);
}
PHANTOM_ENTRY int cublasGetStream_v2(void*, void** stream) {
  *stream = nullptr;
  return 0;
}

// Batched solvers say on the host whether their arguments were in order.
#define PHANTOM_BATCHED(type)                                                                    \
  PHANTOM_ENTRY int cublas##type##geqrfBatched(void*, int, int, void*, int, void*, int* info,    \
                                               int) {                                            \
    return set(info, 0);                                                                         \
  }                                                                                              \
  PHANTOM_ENTRY int cublas##type##getrsBatched(void*, int, int, int, void*, int, void*, void*,   \
                                               int, int* info, int) {                            \
    return set(info, 0);                                                                         \
  }                                                                                              \
  PHANTOM_ENTRY int cublas##type##gelsBatched(void*, int, int, int, int, void*, int, void*, int, \
                                              int* info, void*, int) {                           \
    return set(info, 0);                                                                         \
  }
PHANTOM_BATCHED(S)
PHANTOM_BATCHED(D)
PHANTOM_BATCHED(C)
PHANTOM_BATCHED(Z)
#undef PHANTOM_BATCHED
