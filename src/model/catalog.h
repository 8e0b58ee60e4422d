// SPDX-License-Identifier: Apache-2.0
// The catalog: configurations of published models, kept in the program so that a name alone is
// enough.
//
// The rows are data/models, embedded at build time and sorted by id (case ignored). Nothing is
// parsed before it is asked for: `Config::parse(entry.config, std::string(entry.id))`.
// scripts/update_catalog.py rewrites data/models from a folder of configs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace memtape {

struct CatalogEntry {
  std::string_view id;      ///< hub id, "meta-llama/Llama-3.1-8B"
  std::string_view family;  ///< model_type
  std::int64_t parameters =
      0;  ///< of the model as transformers builds it; 0 where nobody has counted
  std::int64_t hub_parameters = 0;  ///< of the safetensors files on the hub; 0 where not known
  std::string_view parameters_source;
  std::string_view config_source;
  std::string_view note;
  std::string_view config;  ///< the text of config.json
};

/// Every entry, by id.
std::span<const CatalogEntry> model_catalog();

/// The entry of that hub id, or the only one whose last part ("Llama-3.1-8B") is that name; case
/// ignored. Null if there is none.
const CatalogEntry* find_model(std::string_view name);

/// "did you mean meta-llama/Llama-3.1-8B?", or "see memtape models" where nothing is near.
std::string model_suggestion(std::string_view name);

}  // namespace memtape
