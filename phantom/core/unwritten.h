// SPDX-License-Identifier: Apache-2.0
// Functions of the libraries that nobody wrote here: each is a few generated instructions
// (symbols/, cmake/trampolines.py) that come to `unwritten`. How such a call goes is data, beside
// the name:
//
//   idle     doing nothing, successfully, is right: it computes, or sets what nobody reads
//   refused  it fails as unsupported, and the run's report names it
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

/// Notes the first call of each.
extern "C" PHANTOM_CORE void memtape_phantom_refused(memtape::phantom::Unwritten* function);
extern "C" PHANTOM_CORE void memtape_phantom_idle();
