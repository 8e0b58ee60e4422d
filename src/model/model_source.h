// SPDX-License-Identifier: Apache-2.0
// What the MODEL of a request refers to: a configuration and, if there is one, the list of the
// checkpoint's tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/tensor_list.h"

namespace memtape {

struct ModelSource {
  std::string id;                     ///< the id on the hub, or the path as it was typed
  std::string where;                  ///< "catalog", "Hugging Face cache", the URL or the file
  std::optional<Config> config;       ///< absent only for a checkpoint without a config.json
  std::optional<TensorList> header;   ///< what the checkpoint stores
  std::vector<std::string> warnings;  ///< what the user should know: missing shards, no config.json
};

}  // namespace memtape
