// SPDX-License-Identifier: Apache-2.0
// Functions of the libraries that nobody has written here. Each consists of a few generated
// instructions (symbols/, cmake/trampolines.py) that call a function below. A word beside the name
// of the function decides what such a call does:
//
//   idle     it does nothing and succeeds, since it only computes, or sets what nobody reads
//   refused  it fails as unsupported, and the run's report names it
//
// Behind the word may stand which arguments are places on the host for a size or a number, and how
// many bytes each has: an idle call puts zero there. Sizes of workspaces follow no published rule,
// so that the report names the library.
#pragma once

#include <atomic>

#include "core/export.h"

namespace memtape::phantom {

struct Unwritten {
  const char* library;
  const char* name;
  std::atomic<bool> noted{false};
};

}  // namespace memtape::phantom

/// Notes the first call of each function.
extern "C" PHANTOM_CORE void memtape_phantom_refused(memtape::phantom::Unwritten* function);
extern "C" PHANTOM_CORE void memtape_phantom_idle();
/// Notes the first call of each function that answers with a size.
extern "C" PHANTOM_CORE void memtape_phantom_sized(memtape::phantom::Unwritten* function);
