// SPDX-License-Identifier: Apache-2.0
// Where an engine does not answer a model: which others do.
#pragma once

#include "base/result.h"
#include "serving/serve_engine.h"

namespace memtape {

/// The same error. If it is about the model, its hint names the engines that answer this one with
/// their own defaults, which they are asked for, or says that none does.
Error with_other_engines(Error error, const ServeEngine& asked, const ServeRequest& request);

}  // namespace memtape
