// SPDX-License-Identifier: Apache-2.0
// The driver's functions by name, for programs that do not link against libcuda.
#include <dlfcn.h>

#include "core/export.h"
#include "libcudart/error.h"

using namespace memtape::phantom;

namespace {

enum QueryResult : int { query_found = 0, query_not_found = 1 };

}  // namespace

PHANTOM_ENTRY int cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                                   unsigned version, unsigned long long flags,
                                                   int* result) {
  using Lookup = int (*)(const char*, void**, int, unsigned long long, int*);
  static const auto lookup = [] {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver) driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver ? reinterpret_cast<Lookup>(dlsym(driver, "cuGetProcAddress_v2")) : nullptr;
  }();
  *function = nullptr;
  if (lookup) lookup(name, function, static_cast<int>(version), flags, nullptr);
  if (result) *result = *function ? query_found : query_not_found;
  return runtime_success;
}

PHANTOM_ENTRY int cudaGetDriverEntryPoint(const char* name, void** function,
                                          unsigned long long flags, int* result) {
  return cudaGetDriverEntryPointByVersion(name, function, PHANTOM_CUDA * 1000, flags, result);
}
