// SPDX-License-Identifier: Apache-2.0
// safetensors: the header of a checkpoint, without its data (format: huggingface/safetensors,
// README "Format").
//
//   | u64 little endian: N | N bytes of JSON | data ...
//   {"__metadata__": {"format": "pt"},
//    "model.norm.weight": {"dtype": "BF16", "shape": [4096], "data_offsets": [0, 8192]}, ...}
//
// As the reference reader does, a header is refused that is longer than 100 MB or than its file,
// that names a tensor twice, whose offsets leave holes, overlap or do not end where the file ends,
// or whose shape and dtype do not make up its bytes. A sharded checkpoint has an index,
// model.safetensors.index.json: {"metadata": {...}, "weight_map": {tensor: file}}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/byte_source.h"
#include "model/tensor_list.h"

namespace memtape {

/// The tensors of one file, in the order of their data.
Result<TensorList> read_safetensors(const ByteSource& source);

struct SafetensorsIndex {
  struct Weight {
    std::string name;
    std::size_t file;  ///< index into `files`
  };
  std::vector<std::string> files;  ///< each once, in the order of the map; plain names, no path
  std::vector<Weight> weights;
};

/// Reads an index; `where` is the file's name in messages.
Result<SafetensorsIndex> parse_safetensors_index(std::string_view json, const std::string& where);

/// The tensors of all shards together. `shards` are those of `index.files`, in that order; it is an
/// error when a tensor is not in the file that the index names, or when a shard holds one that the
/// index does not know.
Result<TensorList> join_shards(const SafetensorsIndex& index, std::vector<TensorList> shards,
                               const std::string& where);

}  // namespace memtape
