// SPDX-License-Identifier: Apache-2.0
// Quantized copies of the catalog's models by their names: publishers put the scheme behind the
// name of the model that they quantized, Qwen/Qwen3-8B-AWQ, and hold to its usual settings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/catalog.h"

namespace memtape {

/// A copy that the catalog does not have, of a model that it has.
struct QuantizedName {
  const CatalogEntry* base = nullptr;
  std::string ending;       ///< as it is spelled: "-AWQ"
  std::string_view scheme;  ///< in words
  std::string config;       ///< what its config.json has besides, as JSON: quantization_config
};

/// Reads "Org/Qwen3-8B-AWQ" or "Qwen3-8B-FP8-dynamic". Nothing, if the name has no such ending, or
/// what stands before it is no model of the catalog, or one whose weights are quantized themselves,
/// or if its owner has a scheme of its own.
std::optional<QuantizedName> quantized_name(std::string_view name);

/// `name` as the catalog knows it: an entry's id, or that of its base and a copy's ending. It is
/// empty if the catalog has neither.
std::string known_name(std::string_view name);

}  // namespace memtape
