// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation_flags.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/json_reader.h"
#include "family/registry.h"

namespace memtape::transformers {
namespace {

constexpr std::array<std::string_view, 3> kSwitches{"do_sample", "output_scores", "output_logits"};
constexpr std::array<std::string_view, 9> kNumbers{"temperature",
                                                   "top_k",
                                                   "top_p",
                                                   "min_p",
                                                   "typical_p",
                                                   "repetition_penalty",
                                                   "prompt_lookup_num_tokens",
                                                   "num_assistant_tokens",
                                                   "assistant_confidence_threshold"};
constexpr std::array<std::string_view, 2> kTexts{"assistant_model",
                                                 "num_assistant_tokens_schedule"};
constexpr std::array<std::string_view, 3> kSchedules{"constant", "heuristic",
                                                     "heuristic_transient"};

/// Whether the number was given and is not the one that changes nothing.
Result<bool> is_not(const ServeOptions& options, std::string_view name, double nothing) {
  const Result<double> value = options.number(name, nothing);
  if (!value) return tl::unexpected(value.error());
  if (*value < 0)
    return bad_input("must not be negative", "--" + std::string(name), "a number from 0 on");
  return *value != nothing;
}

/// The numbers of ScoreChanges; top_k is 50 unless another is given (GenerationConfig's default).
Result<void> read_score_changes(const ServeOptions& options, ScoreChanges& changes) {
  constexpr std::int64_t kTopK = 50;
  for (const auto& [name, nothing, field] :
       {std::tuple{"repetition_penalty", 1.0, &ScoreChanges::repetition_penalty},
        std::tuple{"temperature", 1.0, &ScoreChanges::temperature},
        std::tuple{"top_p", 1.0, &ScoreChanges::top_p},
        std::tuple{"typical_p", 1.0, &ScoreChanges::typical_p}}) {
    const Result<bool> changes_scores = is_not(options, name, nothing);
    if (!changes_scores) return tl::unexpected(changes_scores.error());
    changes.*field = *changes_scores;
  }
  const Result<double> min_p = options.number("min_p", 0);
  if (!min_p) return tl::unexpected(min_p.error());
  changes.min_p = options.has("min_p");
  const Result<std::int64_t> top_k = options.integer("top_k", kTopK, {0, std::int64_t{1} << 31});
  if (!top_k) return tl::unexpected(top_k.error());
  changes.top_k = *top_k;
  return {};
}

/// What generate() itself refuses, and what is not modelled.
Result<void> check(const GenerateRecipe& recipe) {
  const bool beams = recipe.num_beams > 1;
  if (beams && (recipe.do_sample || recipe.output_scores || recipe.output_logits))
    return unsupported("beams are modelled without drawing and without what else may be returned",
                       "--num_beams", "1");
  if (!recipe.prompt_lookup_num_tokens && !recipe.assistant) return {};
  const char* const flag = recipe.assistant ? "--assistant_model" : "--prompt_lookup_num_tokens";
  if (recipe.batch_size > 1 || beams)
    return bad_input("assisted decoding takes one prompt and no beams", flag, "--batch-size 1");
  if (recipe.cache != family::CacheKind::dynamic)
    return bad_input("assisted decoding goes back to earlier tokens, which takes a dynamic cache",
                     "--cache_implementation", "dynamic or offloaded");
  if (recipe.prefill_chunk_size)
    return bad_input("assisted decoding has no prefill of its own that could be divided",
                     "--prefill_chunk_size", "leave it out");
  if (!recipe.assistant) return {};
  if (recipe.offloads_cache)
    return bad_input(
        "an assistant goes on with its cache, which generate() refuses beside a named "
        "implementation",
        "--cache_implementation", "dynamic");
  if (recipe.prompt_lookup_num_tokens)
    return bad_input("candidates come from the prompt, and the assistant is not asked",
                     "--assistant_model", "without --prompt_lookup_num_tokens");
  return {};
}

/// _validate_generation_mode: models that say _is_stateful, whichever layers they have.
Result<void> check_can_go_back(const ServeRequest& request, const GenerateRecipe& recipe) {
  if (!request.config || (!recipe.prompt_lookup_num_tokens && !recipe.assistant)) return {};
  const family::FamilyFacts* const facts = family::facts_of(*request.config);
  if (!facts || facts->modeling.stateful == family::Known::no) return {};
  return unsupported("layers with a recurrent state cannot go back to an earlier token",
                     "assisted decoding", "a model of attention alone");
}

std::int64_t configured_vocabulary(const Config& config) {
  const Config text = config.has("text_config") ? config.object("text_config") : config;
  return text.count("vocab_size", 0);
}

/// The model that --assistant_model names, and its generation_config.
Result<AssistantRecipe> assistant_of(const ServeRequest& request) {
  const ServeOptions& options = request.options;
  AssistantRecipe assistant{.config = request.draft.config};
  if (!assistant.config)
    return unsupported("an assistant needs a configuration",
                       "--assistant_model " + options.text("assistant_model", ""),
                       "a config.json or a catalog name");
  if (request.config &&
      configured_vocabulary(*request.config) != configured_vocabulary(*assistant.config))
    return unsupported(
        "vocabularies of two sizes mean two tokenizers, and what one makes of the "
        "other's tokens is in no configuration",
        "--assistant_model " + request.draft.id, "a model of the same vocabulary");
  const Result<std::int64_t> tokens = options.integer(
      "num_assistant_tokens", assistant.num_assistant_tokens, {1, std::int64_t{1} << 20});
  if (!tokens) return tl::unexpected(tokens.error());
  assistant.num_assistant_tokens = *tokens;
  const Result<std::size_t> schedule =
      options.choice("num_assistant_tokens_schedule", kSchedules, kSchedules.front());
  if (!schedule) return tl::unexpected(schedule.error());
  assistant.grows = *schedule > 0;
  const Result<bool> asks = is_not(options, "assistant_confidence_threshold", 0);
  if (!asks) return tl::unexpected(asks.error());
  assistant.asks_confidence = *asks || !options.has("assistant_confidence_threshold");
  return assistant;
}

Result<void> read_assistant(const ServeRequest& request, GenerateRecipe& recipe) {
  if (!request.options.has("assistant_model")) {
    for (const std::string_view name : {"num_assistant_tokens", "num_assistant_tokens_schedule",
                                        "assistant_confidence_threshold"})
      if (request.options.has(name))
        return bad_input("there is no assistant", "--" + std::string(name), "--assistant_model");
    return {};
  }
  const Result<AssistantRecipe> assistant = assistant_of(request);
  if (!assistant) return tl::unexpected(assistant.error());
  recipe.assistant = *assistant;
  return {};
}

}  // namespace

Result<void> read_generation_flags(const ServeRequest& request, GenerateRecipe& recipe) {
  const ServeOptions& options = request.options;
  recipe.do_sample = options.has("do_sample");
  recipe.output_scores = options.has("output_scores");
  recipe.output_logits = options.has("output_logits");
  if (const Result<void> read = read_score_changes(options, recipe.scores); !read) return read;
  if (options.has("prompt_lookup_num_tokens")) {
    const Result<std::int64_t> tokens =
        options.integer("prompt_lookup_num_tokens", 1, {1, std::int64_t{1} << 20});
    if (!tokens) return tl::unexpected(tokens.error());
    recipe.prompt_lookup_num_tokens = *tokens;
  }
  if (const Result<void> read = read_assistant(request, recipe); !read) return read;
  if (const Result<void> read = check_can_go_back(request, recipe); !read) return read;
  return check(recipe);
}

std::vector<Setting> generation_settings(const ServeOptions& options) {
  std::vector<Setting> given;
  for (const std::string_view name : kSwitches)
    if (options.has(name)) given.push_back({std::string(name), "true"});
  for (const std::string_view name : kNumbers)
    if (const std::string* value = options.find(name)) given.push_back({std::string(name), *value});
  for (const std::string_view name : kTexts)
    if (const std::string* value = options.find(name))
      given.push_back({std::string(name), json_quoted(*value)});
  return given;
}

}  // namespace memtape::transformers
