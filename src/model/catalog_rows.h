// SPDX-License-Identifier: Apache-2.0
// The generated tables from which the catalog is read (scripts/embed_data.py).
#pragma once

#include <cstdint>
#include <span>

#include "model/catalog.h"

namespace memtape::data {

/// A model whose configuration differs from a row's in nothing that memory depends on: another
/// training of it, a copy, or its name of former days.
struct SameModel {
  std::string_view id;
  std::uint16_t row;
};

/// They are sorted by id in lower case.
std::span<const SameModel> same_models();

/// They are sorted by id in lower case.
std::span<const CatalogEntry> models();
/// Indices into `models`, sorted by the part of the id after the slash in lower case.
std::span<const std::uint16_t> models_by_last_part();

}  // namespace memtape::data
