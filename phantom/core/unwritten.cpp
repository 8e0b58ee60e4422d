// SPDX-License-Identifier: Apache-2.0
#include "core/unwritten.h"

#include <string>

#include "core/ledger.h"

using namespace memtape::phantom;

void memtape_phantom_refused(Unwritten* function) {
  if (function->noted.exchange(true)) return;
  ledger().refused_calls.fetch_add(1);
  note("refused", std::string(function->library) + " " + function->name);
}

void memtape_phantom_idle() {}

void memtape_phantom_sized(Unwritten* function) {
  if (function->noted.exchange(true)) return;
  note("unsized", std::string(function->library) +
                      " computes nothing, and its workspaces, whose sizes follow no published "
                      "rule, count as nothing");
}
