// SPDX-License-Identifier: Apache-2.0
// correct_serve: what makes a server fit plainly that does not, or may not: single changes of an
// engine's flags, or where none is enough, two of them together. Each is answered exactly.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "option/given.h"
#include "predict/serve.h"

namespace memtape {

struct Correction {
  NamedValues changes;  ///< options and their new values
  int gpus = 0;         ///< as many in place of the request's; 0: those
  Advice advice;
};

struct Corrections {
  std::vector<Correction> found;  ///< the one to try first is the first
  std::string nothing;            ///< what was tried, where nothing is found
};

Corrections correct_serve(const ServeEngine& engine, const ServeRequest& request);

}  // namespace memtape
