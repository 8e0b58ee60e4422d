// SPDX-License-Identifier: Apache-2.0
// generate() of GenerationMixin in transformers 5.17 (generation/utils.py): it decodes greedily, by
// drawing, by beam search, or with candidates that are looked up in the prompt. It runs a prefill,
// whole or in chunks, and then a pass for each new token or each round of candidates, without
// compiling. The prompts have no padding, and all tokens that are asked for are generated, whether
// or not it looks for an end-of-sequence token.
#pragma once

#include <functional>

#include "base/result.h"
#include "family/caches/key_value_cache.h"
#include "family/pretrained.h"
#include "framework/torch/train_loop.h"
#include "ghost/session.h"
#include "mesh/gpu_catalog.h"
#include "model/config.h"
#include "workload/step_choices.h"

namespace memtape::transformers {

/// What is done to the scores before a token is chosen (_get_logits_processor).
struct ScoreChanges {
  bool repetition_penalty = false;
  bool temperature = false;  ///< it is not 1, so the scores are divided by it
  std::int64_t top_k = 0;    ///< 0: there is none
  bool top_p = false, min_p = false, typical_p = false;
};

/// A smaller model that proposes tokens, with what its generation_config says.
struct AssistantRecipe {
  const Config* config = nullptr;  ///< must outlive the run
  std::int64_t num_assistant_tokens = 20;
  bool grows = false;           ///< schedule: two more after a round whose tokens were all kept
  bool asks_confidence = true;  ///< assistant_confidence_threshold is not 0
};

struct GenerateRecipe {
  Release release = {};
  /// What decides how a quantized checkpoint is loaded; without one, a GPU that is new enough.
  std::optional<Gpu> gpu = {};
  DType dtype = DType::bfloat16;
  AttentionChoice attention = AttentionChoice::sdpa;
  std::int64_t batch_size = 1, prompt_length = 512, max_new_tokens = 20;
  family::CacheKind cache = family::CacheKind::dynamic;
  bool offloads_cache = false;
  family::QuantizedStates::Settings quantized = {};
  std::optional<std::int64_t> prefill_chunk_size = {};
  std::int64_t num_beams = 1;
  ScoreChanges scores = {};  ///< between the logits and the choice
  bool do_sample = false;
  bool output_scores = false, output_logits = false;  ///< they are returned for every token
  std::optional<std::int64_t> prompt_lookup_num_tokens = {};
  std::optional<AssistantRecipe> assistant = {};
  bool asks_confidence = false;  ///< it is an assistant that asks whether it is sure of a token
  bool looks_for_eos = false;    ///< there is an eos_token_id
};

struct GenerateRun {
  /// Its marks: step -1 is the model's construction, step 0 is the prefill, and step i is the i-th
  /// pass after it. Each pass is `forward`; what generate() does before and after it is `prepare`.
  Tape tape;
  std::int64_t parameters = 0;
  Bytes parameter_bytes = 0;
  /// The largest weight that a kernel unpacks to multiply by it; other kernels unpack none.
  Bytes most_unpacked = 0;
  std::vector<std::int64_t> sliding_windows;  ///< one for each layer; empty: there are none
  /// Layers that were assumed to be equal differ, so the run is not valid.
  bool layers_differ = false;
};

/// generate() inside of another program, for a model that is on the device. `forward` is
/// model(**inputs).logits. It returns prompts and completions [B, P + C]. If the family's attention
/// takes no cache, the session gets an error.
using LogitsOf = std::function<ghost::Tensor(const family::Batch&)>;
ghost::Tensor generate(family::PretrainedModel& model, const GenerateRecipe& recipe,
                       const LogitsOf& forward);

/// Loads the model on the device and generates. It is an error if the family's attention takes no
/// cache. Equal layers are written down; if they turn out to differ, all layers are run.
Result<GenerateRun> run_generate(const Config& config, const GenerateRecipe& recipe,
                                 const ghost::DeviceTraits& device);
Result<GenerateRun> run_generate(const Config& config, const GenerateRecipe& recipe,
                                 const ghost::DeviceTraits& device, torch::EqualLayerRuns runs);

}  // namespace memtape::transformers
