// SPDX-License-Identifier: Apache-2.0
#include "formats/checkpoint.h"

#include "formats/safetensors.h"

namespace memtape {

Result<Checkpoint> read_shards(std::string_view index, const std::string& place,
                               const ShardReader& read) {
  const Result<SafetensorsIndex> listed = parse_safetensors_index(index, place);
  if (!listed) return tl::unexpected(listed.error());
  std::vector<TensorList> shards;
  for (const std::string& file : listed->files) {
    Result<std::optional<TensorList>> shard = read(file);
    if (!shard) return tl::unexpected(shard.error());
    if (!*shard)
      return Checkpoint{std::nullopt,
                        {place.substr(0, place.rfind('/') + 1) + file +
                         " is not there: the checkpoint's tensors are not checked"}};
    shards.push_back(**std::move(shard));
  }
  Result<TensorList> joined = join_shards(*listed, std::move(shards), place);
  if (!joined) return tl::unexpected(joined.error());
  return Checkpoint{*std::move(joined), {}};
}

}  // namespace memtape
