// SPDX-License-Identifier: Apache-2.0
// pipeline_llm's options and how it shares out a model's modules
// (distributed/pipeline_parallel.py): embedding, and norm with head, count as so many layers each;
// stages that come first get the layers that do not divide. The local batch is cut into
// micro-batches.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "family/parts/stage_parts.h"
#include "framework/torch_pp/options.h"
#include "model/config.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torchtitan {

struct PipelineOptions {
  torch_pp::Options schedule;
  std::int64_t microbatch_size = 1;
  std::vector<family::StageRange> stages;  ///< of the whole pipeline
};

/// Of a model of `layers`, over recipe.layout.pp ranks; `json` is the --strategy.
Result<PipelineOptions> read_pipeline(const Config& json, const TrainRecipe& recipe,
                                      std::int64_t layers);

}  // namespace memtape::torchtitan
