// SPDX-License-Identifier: Apache-2.0
// correct_serve: the first of an engine's remedies that makes a server fit which does not. Each
// remedy is answered exactly.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "option/given.h"
#include "predict/serve.h"

namespace memtape {

struct Correction {
  NamedValues changes;  ///< options and their new values
  Advice advice;
};

std::optional<Correction> correct_serve(const ServeEngine& engine, const ServeRequest& request);

}  // namespace memtape
