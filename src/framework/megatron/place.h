// SPDX-License-Identifier: Apache-2.0
// The place of a rank (RankGenerator of megatron/core/parallel_state.py). From the fastest axis to
// the slowest, the default order is tensor, context, data, pipeline. Experts are distributed anew
// within a stage.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "framework/megatron/language_model.h"

namespace memtape::megatron {

struct Place {
  std::int64_t pp = 0, tp = 0;
  std::array<std::int64_t, 2> shard{};  ///< of the dense buffers and of the experts' buffers
};

/// The places of thousands of ranks. Each takes a few divisions, of 32 bits because those of 64
/// bits take twice as long.
class Places {
 public:
  explicit Places(const Arguments& a);
  Place of(std::int64_t rank) const;

 private:
  std::uint32_t tp_, replicas_, inner_experts_, expert_replicas_, shards_, expert_shards_;
};

/// The chunks of pipeline rank `pp`. Its virtual stage v is stage v * pp_size + pp of the model.
std::vector<ChunkPlace> chunks_of(const Arguments& a, std::int64_t pp);

}  // namespace memtape::megatron
