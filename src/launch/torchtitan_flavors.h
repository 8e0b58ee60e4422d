// SPDX-License-Identifier: Apache-2.0
// torchtitan's own names of the models that it has.
#pragma once

#include <span>
#include <string_view>

namespace memtape::launch {

struct TitanFlavor {
  std::string_view model, flavor, id;  ///< id: on the hub
};

std::span<const TitanFlavor> torchtitan_flavors();

}  // namespace memtape::launch
