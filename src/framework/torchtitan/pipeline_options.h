// SPDX-License-Identifier: Apache-2.0
// pipeline_llm's options and how it shares out a model's modules
// (distributed/pipeline_parallel.py): embedding, and norm with head, count as so many layers each;
// stages that come first get the layers that do not divide. The local batch is cut into
// micro-batches.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "family/parts/stage_parts.h"
#include "framework/torch_pp/options.h"

namespace memtape {
struct TrainRecipe;
}

namespace memtape::torchtitan {

/// The toml's options that begin with pipeline_parallel_, where they are given.
struct PipelineWords {
  std::optional<std::string> schedule;
  std::optional<std::int64_t> microbatch_size, layers_per_stage;
  std::int64_t first_less = 1, last_less = 1;  ///< what the ends of the model weigh, in layers
};

struct PipelineOptions {
  torch_pp::Options schedule;
  std::int64_t microbatch_size = 1;
  std::vector<family::StageRange> stages;  ///< of the whole pipeline
};

/// Of a model of `layers`, over recipe.layout.pp ranks.
Result<PipelineOptions> read_pipeline(const PipelineWords& words, const TrainRecipe& recipe,
                                      std::int64_t layers);

}  // namespace memtape::torchtitan
