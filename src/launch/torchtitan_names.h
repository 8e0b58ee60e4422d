// SPDX-License-Identifier: Apache-2.0
// torchtitan's own names of models, and of settings in its toml (releases up to 0.2.x), which are
// read from configurations and written into exports.
#pragma once

#include <span>
#include <string_view>

#include "launch/setting_rows.h"

namespace memtape::launch {

struct TitanFlavor {
  std::string_view model, flavor, id;  ///< id: on the hub
};
std::span<const TitanFlavor> torchtitan_flavors();

/// A member of --strategy, and the section that has it under the same name.
struct TitanMember {
  std::string_view section, key;
  RowKind kind = RowKind::text;
};
std::span<const TitanMember> torchtitan_members();

/// A size of the mesh by memtape's option, and its key in [parallelism].
struct TitanSize {
  std::string_view option, key;
};
std::span<const TitanSize> torchtitan_sizes();

}  // namespace memtape::launch
