// SPDX-License-Identifier: Apache-2.0
// The options of pipeline_llm, and how it distributes the modules of a model
// (distributed/pipeline_parallel.py). The embedding counts as a number of layers, and so do the
// norm and head together. If the layers do not divide, the first stages get one more. The local
// batch is divided into micro-batches.
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
  std::vector<family::StageRange> stages;  ///< those of the whole pipeline
};

/// Of a model of `layers`, over recipe.layout.pp ranks.
Result<PipelineOptions> read_pipeline(const PipelineWords& words, const TrainRecipe& recipe,
                                      std::int64_t layers);

}  // namespace memtape::torchtitan
