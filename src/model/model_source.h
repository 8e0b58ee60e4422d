// SPDX-License-Identifier: Apache-2.0
// What MODEL of a request turned out to be: a configuration and, where there is one, the list of
// the checkpoint's tensors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/tensor_list.h"

namespace memtape {

struct ModelSource {
  std::string id;                ///< hub id, or the path as it was typed
  std::string where;             ///< "catalog", "Hugging Face cache", the URL or the file
  std::optional<Config> config;  ///< absent only for a checkpoint without a config.json beside it
  std::optional<TensorList> header;  ///< what the checkpoint stores
  std::vector<std::string>
      warnings;  ///< what the user should know: shards that are not there, no config.json
};

}  // namespace memtape
