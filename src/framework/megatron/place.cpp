// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/place.h"

#include <algorithm>

namespace memtape::megatron {
namespace {

std::uint32_t of_ranks(std::int64_t count) { return static_cast<std::uint32_t>(count); }

std::int64_t shards_of(const Arguments& a, std::int64_t replicas) {
  return std::max<std::int64_t>(1, replicas / a.num_distributed_optimizer_instances);
}

}  // namespace

Places::Places(const Arguments& a)
    : tp_(of_ranks(a.tp)),
      replicas_(of_ranks(a.cp * a.dp)),
      inner_experts_(of_ranks(a.etp * a.ep)),
      expert_replicas_(of_ranks(a.gpus / (a.etp * a.ep * a.pp))),
      shards_(of_ranks(shards_of(a, replicas_))),
      expert_shards_(of_ranks(shards_of(a, expert_replicas_))) {}

Place Places::of(std::int64_t rank) const {
  const std::uint32_t number = of_ranks(rank);
  const std::uint32_t group = number / tp_;  // dp x cp within a stage, cp fastest
  Place place;
  place.pp = group / replicas_;
  place.tp = number % tp_;
  place.shard[0] = group % replicas_ % shards_;
  place.shard[1] = number / inner_experts_ % expert_replicas_ % expert_shards_;
  return place;
}

std::vector<ChunkPlace> chunks_of(const Arguments& a, std::int64_t pp) {
  std::vector<ChunkPlace> places;
  const bool has_mtp = a.mtp_num_layers > 0;
  const std::int64_t mtp_stage = a.mtp_stage.value_or(a.pp * a.vpp - 1);
  std::int64_t layer = 0;
  for (std::int64_t v = 0; v < a.vpp; ++v)
    for (std::int64_t rank = 0; rank < a.pp; ++rank) {
      const std::int64_t layers =
          a.stage_layers[static_cast<std::size_t>(rank)][static_cast<std::size_t>(v)];
      const bool last = rank == a.pp - 1 && v == a.vpp - 1;
      // With MTP the final norm is where the decoder's last layer is.
      const bool ends_decoder = layers > 0 && layer + layers == a.num_layers;
      if (rank == pp)
        places.push_back({.first_layer = layer,
                          .layers = layers,
                          .virtual_stage = static_cast<std::size_t>(v),
                          .first = rank == 0 && v == 0,
                          .last = last,
                          .mtp = has_mtp && v * a.pp + rank == mtp_stage,
                          .final_norm = has_mtp ? ends_decoder : last});
      layer += layers;
    }
  return places;
}

}  // namespace memtape::megatron
