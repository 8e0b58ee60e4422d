// SPDX-License-Identifier: Apache-2.0
// `memtape gpus [ID]` and `memtape models [MODEL]`: what is known under a name, as JSON.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mesh/gpu_catalog.h"
#include "model/catalog.h"
#include "model/model_source.h"

namespace memtape::answer {

/// The GPU with that id, or all GPUs for "".
Result<std::vector<Gpu>> gpus_named(const std::string& id);

std::string capability_text(const Gpu& gpu);
std::string gpus_json(std::span<const Gpu> gpus);

/// Whether `memtape train` can build the family.
bool is_supported(std::string_view family);

std::string models_json(std::span<const CatalogEntry> models = model_catalog());

/// One model, with everything that a report about it needs.
struct ModelFacts {
  const ModelSource& source;
  const CatalogEntry* entry;  ///< null if it does not come from the catalog
  std::string family;         ///< "" if there is no configuration
};

ModelFacts facts_of(const ModelSource& source);

/// The number of tensors for each dtype, such as "BF16".
std::map<std::string, std::int64_t> dtypes_of(const TensorList& header);

std::string model_json(const ModelFacts& facts);

}  // namespace memtape::answer
