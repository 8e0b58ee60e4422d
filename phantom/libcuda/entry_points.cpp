// SPDX-License-Identifier: Apache-2.0
// cuGetProcAddress: the driver's functions by name. The driver gives the newest form of a function
// that the caller's version knows; the forms that are written here are the newest, so the name with
// its suffix comes first.
#include <dlfcn.h>

#include <string>

#include "core/export.h"
#include "core/ledger.h"
#include "libcuda/driver_types.h"

using namespace memtape::phantom;

namespace {

enum QueryResult : int { query_found = 0, query_not_found = 1 };

void* find(const std::string& name) {
  static void* const self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const where = self ? self : RTLD_DEFAULT;
  void* found = dlsym(where, (name + "_v2").c_str());
  return found ? found : dlsym(where, name.c_str());
}

}  // namespace

PHANTOM_ENTRY int cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long,
                                      int* result) {
  *function = find(name);
  if (result) *result = *function ? query_found : query_not_found;
  if (!*function) note("missing", std::string("libcuda ") + name);
  return in_driver_terms(*function != nullptr, driver_not_found);
}

PHANTOM_ENTRY int cuGetProcAddress(const char* name, void** function, int version,
                                   unsigned long long flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
