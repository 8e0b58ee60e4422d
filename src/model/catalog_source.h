// SPDX-License-Identifier: Apache-2.0
// What the catalog knows of a name, as the source of a request's MODEL.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/model_source.h"

namespace memtape {

/// The entry of that name; nothing if the catalog has none.
Result<std::optional<ModelSource>> catalog_source(const std::string& name);

/// The entry of which that name says a quantized copy, with the usual settings of its scheme, and a
/// warning that says so; nothing if the name says none.
Result<std::optional<ModelSource>> quantized_source(const std::string& name);

}  // namespace memtape
