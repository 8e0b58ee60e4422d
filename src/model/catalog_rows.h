// SPDX-License-Identifier: Apache-2.0
// The generated tables behind the catalog (scripts/embed_data.py).
#pragma once

#include <cstdint>
#include <span>

#include "model/catalog.h"

namespace memtape::data {

/// Sorted by id, letters lowered.
std::span<const CatalogEntry> models();
/// Indices into `models`, sorted by the part of the id after the slash, letters lowered.
std::span<const std::uint16_t> models_by_last_part();

}  // namespace memtape::data
