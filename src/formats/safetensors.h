// SPDX-License-Identifier: Apache-2.0
// safetensors: the header of a checkpoint, without its data (format: huggingface/safetensors,
// README "Format").
//
//   | u64 little endian: N | N bytes of JSON | data ...
//   {"__metadata__": {"format": "pt"},
//    "model.norm.weight": {"dtype": "BF16", "shape": [4096], "data_offsets": [0, 8192]}, ...}
//
// Like the reference reader, this one refuses a header that is longer than 100 MB or than its file,
// that names a tensor twice, whose offsets leave holes, overlap or do not end at the end of the
// file, or in which shape and dtype of a tensor contradict its bytes. A checkpoint in shards has an
// index, model.safetensors.index.json: {"metadata": {...}, "weight_map": {tensor: file}}.
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
    std::size_t file;  ///< an index into `files`
  };
  /// Each once, in the order of the map; plain names without a path.
  std::vector<std::string> files;
  std::vector<Weight> weights;
};

/// Reads an index; `where` is the file's name in messages.
Result<SafetensorsIndex> parse_safetensors_index(std::string_view json, const std::string& where);

/// The tensors of all shards together. `shards` are those of `index.files`, in that order. It is an
/// error if a tensor is not in the file that the index names, or if a shard holds one that the
/// index does not list.
Result<TensorList> join_shards(const SafetensorsIndex& index, std::vector<TensorList> shards,
                               const std::string& where);

}  // namespace memtape
