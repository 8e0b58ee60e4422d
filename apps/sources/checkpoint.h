// SPDX-License-Identifier: Apache-2.0
// The tensors of a checkpoint, which may consist of one file or of several. The files are chosen as
// transformers chooses them, on disk or on the hub.
#pragma once

#include <filesystem>
#include <string>

#include "formats/checkpoint.h"
#include "sources/hub.h"

namespace memtape::sources {

inline constexpr std::size_t kLargestConfig = std::size_t{16} << 20;

/// The checkpoint in a folder: model.safetensors, or else the shards of
/// model.safetensors.index.json, or else all *.safetensors.
Result<Checkpoint> read_checkpoint_folder(const std::filesystem::path& folder);

/// One .safetensors file.
Result<Checkpoint> read_checkpoint_file(const std::filesystem::path& file);

/// The shards of an index that are in the same folder. If some are missing, the tensors are not
/// known, and a warning says so.
Result<Checkpoint> read_checkpoint_index(const std::filesystem::path& index);

/// The checkpoint of a repository on the hub, read from its headers.
Result<Checkpoint> fetch_checkpoint(HubRepository& repository);

}  // namespace memtape::sources
