// SPDX-License-Identifier: Apache-2.0
// generate(): GenerationMixin of transformers 5.17 (generation/utils.py), greedy, drawing, by beam
// search or with candidates looked up in the prompt: a prefill, whole or in chunks, and a pass per
// new token or round of candidates, without compiling.
// The prompts have no padding; every token asked for is made, whether an end-of-sequence token is
// looked for or not.
#pragma once

#include <functional>

#include "base/result.h"
#include "family/caches/key_value_cache.h"
#include "family/pretrained.h"
#include "framework/torch/train_loop.h"
#include "ghost/session.h"
#include "model/config.h"
#include "workload/step_choices.h"

namespace memtape::transformers {

/// What is done to the scores before a token is chosen (_get_logits_processor).
struct ScoreChanges {
  bool repetition_penalty = false;
  bool temperature = false;  ///< is not 1: the scores are divided by it
  std::int64_t top_k = 0;    ///< 0: none
  bool top_p = false, min_p = false, typical_p = false;
};

/// A smaller model that proposes tokens, by its generation_config.
struct AssistantRecipe {
  const Config* config = nullptr;  ///< outlives the run
  std::int64_t num_assistant_tokens = 20;
  bool grows = false;           ///< schedule: two more after a round whose tokens were all kept
  bool asks_confidence = true;  ///< assistant_confidence_threshold is not 0
};

struct GenerateRecipe {
  Release release = {};
  DType dtype = DType::bfloat16;
  AttentionChoice attention = AttentionChoice::sdpa;
  std::int64_t batch_size = 1, prompt_length = 512, max_new_tokens = 20;
  family::CacheKind cache = family::CacheKind::dynamic;
  bool offloads_cache = false;
  family::QuantizedStates::Settings quantized = {};
  std::optional<std::int64_t> prefill_chunk_size = {};
  std::int64_t num_beams = 1;
  ScoreChanges scores = {};  ///< between logits and choice
  bool do_sample = false;
  bool output_scores = false, output_logits = false;  ///< are returned, those of every token
  std::optional<std::int64_t> prompt_lookup_num_tokens = {};
  std::optional<AssistantRecipe> assistant = {};
  bool asks_confidence = false;  ///< is an assistant that asks whether it is sure of a token
  bool looks_for_eos = false;    ///< there is an eos_token_id
};

struct GenerateRun {
  Tape tape;  ///< marks: step -1 the model, step 0 the prefill, step i the i-th pass after it; each
              ///< pass is forward, what generate() does before and behind it prepare
  std::int64_t parameters = 0;
  Bytes parameter_bytes = 0;
  std::vector<std::int64_t> sliding_windows;  ///< by layer; empty: none
  bool layers_differ = false;                 ///< layers taken for equal were not: the run is void
};

/// generate() within another program, of a model that is on the device: `forward` is
/// model(**inputs).logits. Gives prompts and completions [B, P + C]; an error of the session where
/// the family's attention takes no cache.
using LogitsOf = std::function<ghost::Tensor(const family::Batch&)>;
ghost::Tensor generate(family::PretrainedModel& model, const GenerateRecipe& recipe,
                       const LogitsOf& forward);

/// Loads the model on the device and generates. An error where the family's attention takes no
/// cache. Equal layers are written down and, where they turn out to differ, run.
Result<GenerateRun> run_generate(const Config& config, const GenerateRecipe& recipe,
                                 const ghost::DeviceTraits& device);
Result<GenerateRun> run_generate(const Config& config, const GenerateRecipe& recipe,
                                 const ghost::DeviceTraits& device, torch::EqualLayerRuns runs);

}  // namespace memtape::transformers
