// SPDX-License-Identifier: Apache-2.0
#include "family/masking.h"

#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"

namespace memtape::family {
namespace {

/// find_packed_sequence_indices: positions that step by one everywhere mean one sequence a row, and no mask.
void find_packed_sequence_indices(const Tensor& position_ids) {
  const Tensor first_dummy_value = position_ids.slice(1, 0, 1).add(-1);
  Tensor position_diff;
  {
    const Tensor prepended = ghost::cat({first_dummy_value, position_ids}, -1);
    position_diff = prepended.slice(-1, 1, prepended.size(-1)).sub(prepended.slice(-1, 0, -1));
  }
  const Tensor packed_sequence_mask = ghost::cumsum(ghost::comparison("ne", position_diff));
  const Tensor single = ghost::all(ghost::comparison("eq", packed_sequence_mask.select(1)));
}

}  // namespace

Tensor create_causal_mask(const MaskRequest&, const Tensor& inputs_embeds, const Tensor& position_ids) {
  const std::int64_t batch = inputs_embeds.size(0);
  find_packed_sequence_indices(position_ids.size(0) == batch ? position_ids
                                                             : position_ids.expand({batch, position_ids.size(1)}));
  return {};
}

Tensor create_sliding_window_causal_mask(const MaskRequest& request, const Tensor& inputs_embeds, const Tensor& position_ids) {
  return create_causal_mask(request, inputs_embeds, position_ids);
}

}  // namespace memtape::family
