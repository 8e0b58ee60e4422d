// SPDX-License-Identifier: Apache-2.0
// A checkpoint of several safetensors files: the index says which there are, and each holds a part
// of the tensors (transformers, modeling_utils.py). Where the files lie is the reader's business: on
// disk, on the hub, or in a request.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/tensor_list.h"

namespace memtape {

struct Checkpoint {
  std::optional<TensorList> tensors;  ///< nothing, if they are not known
  std::vector<std::string> warnings;
};

/// The tensors of one file of the index; nothing, if it is not there.
using ShardReader = std::function<Result<std::optional<TensorList>>(const std::string& file)>;

/// All that the index lists. `place` is where the index lies, and the files lie beside it. If one of
/// them is not there, the tensors are not known, and a warning says so.
Result<Checkpoint> read_shards(std::string_view index, const std::string& place,
                               const ShardReader& read);

}  // namespace memtape
