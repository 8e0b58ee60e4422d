// SPDX-License-Identifier: Apache-2.0
// The catalog: the configurations of published models, kept in the program so that a name is
// enough.
//
// Its rows are data/models, embedded at build time and sorted by id (case is ignored). Nothing is
// parsed before it is asked for: `Config::parse(entry.config, std::string(entry.id))`.
// scripts/update_catalog.py rewrites data/models from a folder of configurations.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace memtape {

struct CatalogEntry {
  std::string_view id;      ///< the id on the hub: "meta-llama/Llama-3.1-8B"
  std::string_view family;  ///< model_type
  /// The parameters of the model as transformers builds it; 0 if nobody has counted them.
  std::int64_t parameters = 0;
  /// The parameters in the safetensors files on the hub; 0 if they are not known.
  std::int64_t hub_parameters = 0;
  std::string_view parameters_source;
  std::string_view config_source;
  std::string_view note;
  std::string_view config;  ///< the text of config.json
};

/// Every entry, sorted by id.
std::span<const CatalogEntry> model_catalog();

/// The entry with that id, or the only one whose last part ("Llama-3.1-8B") is that name, or the one
/// that is the same as the model of that name (data/models). Case is ignored. It is null if there
/// is none.
const CatalogEntry* find_model(std::string_view name);

/// The id of the model that find_model finds: its own where it is the same as another, whose entry
/// counts for it ("mistralai/Mixtral-8x7B-Instruct-v0.1"). It is empty if there is none.
std::string_view find_id(std::string_view name);

/// What stands behind the owner in a hub id: "Llama-3.1-8B".
inline std::string_view last_part(std::string_view id) { return id.substr(id.rfind('/') + 1); }

/// Those that are named after the model and are quantized: "Qwen/Qwen3-32B-FP8".
std::vector<std::string_view> quantized_checkpoints(std::string_view id);

/// The model from which one of that name may be made, "did you mean meta-llama/Llama-3.1-8B?", or
/// that a config.json would do if no name is near.
std::string model_suggestion(std::string_view name);

}  // namespace memtape
