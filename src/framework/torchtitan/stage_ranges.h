// SPDX-License-Identifier: Apache-2.0
// How torchtitan divides a model among the stages of a pipeline (generate_llm_fqn_per_model_part of
// torchtitan/distributed/pipeline_parallel.py): the embedding, and the norm with the head, count as
// so many layers each, and the first stages get the layers that do not divide.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "family/parts/stage_parts.h"

namespace memtape::torchtitan {

/// How many layers the two ends of a model count as.
struct EndWeights {
  std::int64_t input = 1, output = 1;
};

/// The parts of `count` stages.
Result<std::vector<family::StageRange>> share_out(std::int64_t count, std::int64_t layers,
                                                  const EndWeights& ends);

}  // namespace memtape::torchtitan
