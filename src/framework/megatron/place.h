// SPDX-License-Identifier: Apache-2.0
// Where a rank stands (RankGenerator of megatron/core/parallel_state.py): by default tensor,
// context, data, pipeline from the fastest to the slowest; experts are spread anew within a stage.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "framework/megatron/language_model.h"

namespace memtape::megatron {

struct Place {
  std::int64_t pp = 0, tp = 0;
  std::array<std::int64_t, 2> shard{};  ///< of the dense and of the experts' buffers
};

/// Of thousands of ranks, each in a few divisions, of 32 bits since those of 64 take twice as long.
class Places {
 public:
  explicit Places(const Arguments& a);
  Place of(std::int64_t rank) const;

 private:
  std::uint32_t tp_, replicas_, inner_experts_, expert_replicas_, shards_, expert_shards_;
};

/// The chunks of pipeline rank `pp`: virtual stage v of it is stage v * pp_size + pp of the model.
std::vector<ChunkPlace> chunks_of(const Arguments& a, std::int64_t pp);

}  // namespace memtape::megatron
