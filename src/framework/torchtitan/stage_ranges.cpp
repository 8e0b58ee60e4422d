// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/stage_ranges.h"

#include <algorithm>
#include <string>

namespace memtape::torchtitan {

Result<std::vector<family::StageRange>> share_out(std::int64_t count, std::int64_t layers,
                                                  const EndWeights& ends) {
  const std::int64_t effective = layers + ends.input + ends.output;
  const std::int64_t each = effective / count, more = effective % count;
  if (each == 0 || ends.input > each || ends.output > each)
    return bad_input(
        std::to_string(layers) + " layers are too few for " + std::to_string(count) + " stages",
        "--pp", "fewer stages, or --strategy: pipeline_parallel_layers_per_stage");
  std::vector<family::StageRange> stages;
  std::int64_t next = 0;
  for (std::int64_t stage = 0; stage < count; ++stage) {
    family::StageRange range{
        .first_layer = next, .end_layer = 0, .embeds = stage == 0, .has_head = stage + 1 == count};
    std::int64_t own = each + (stage < more ? 1 : 0);
    if (range.embeds)
      own -= ends.input;
    else if (range.has_head)
      own -= ends.output;
    next = range.end_layer = std::min(layers, next + own);
    stages.push_back(range);
  }
  return stages;
}

}  // namespace memtape::torchtitan
