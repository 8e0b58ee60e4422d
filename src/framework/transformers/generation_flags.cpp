// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation_flags.h"

#include <array>
#include <string>

#include "base/json_reader.h"
#include "family/registry.h"
#include "framework/transformers/serve.h"

namespace memtape::transformers {
namespace {

/// The flags that an answer repeats where they are given, in its order.
constexpr std::string_view kRepeated =
    "do_sample output_scores output_logits temperature top_k top_p min_p typical_p "
    "repetition_penalty prompt_lookup_num_tokens num_assistant_tokens "
    "assistant_confidence_threshold assistant_model num_assistant_tokens_schedule";
constexpr std::array<std::string_view, 3> kSchedules{"constant", "heuristic",
                                                     "heuristic_transient"};
constexpr IntegerRange kTokens{1, std::int64_t{1} << 20};

/// Whether the number was given and is not the one that changes nothing. A probability is at most 1
/// (transformers 5.17, generation/logits_process.py: TopPLogitsWarper and its kin).
bool is_not(FlagReader& flags, std::string_view name, double nothing, bool is_share = false) {
  const double value = flags.number(name, nothing);
  if (value < 0 || (is_share && value > 1))
    flags.fail({ErrorKind::bad_input, is_share ? "is a probability" : "must not be negative",
                "--" + std::string(name),
                is_share ? "a number from 0 to 1" : "a number from 0 on"});
  return value != nothing;
}

/// The numbers of ScoreChanges; top_k is 50 unless another is given (GenerationConfig's default).
void read_score_changes(FlagReader& flags, ScoreChanges& changes) {
  constexpr std::int64_t kTopK = 50;
  changes.repetition_penalty = is_not(flags, "repetition_penalty", 1.0);
  changes.temperature = is_not(flags, "temperature", 1.0);
  changes.top_p = is_not(flags, "top_p", 1.0, true);
  changes.typical_p = is_not(flags, "typical_p", 1.0, true);
  is_not(flags, "min_p", 0, true);
  changes.min_p = flags.has("min_p");
  changes.top_k = flags.integer("top_k", kTopK, {0, std::int64_t{1} << 31});
}

/// What generate() itself refuses, and what is not modelled.
Result<void> check_generate_recipe(const GenerateRecipe& recipe) {
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
  FlagReader flags(options);
  assistant.num_assistant_tokens =
      flags.integer("num_assistant_tokens", assistant.num_assistant_tokens, kTokens);
  assistant.grows = flags.choice("num_assistant_tokens_schedule", kSchedules) > 0;
  assistant.asks_confidence = is_not(flags, "assistant_confidence_threshold", 0, true) ||
                              !flags.has("assistant_confidence_threshold");
  if (const Result<void> read = flags.done(); !read) return tl::unexpected(read.error());
  return assistant;
}

Result<void> read_assistant(const ServeRequest& request, GenerateRecipe& recipe) {
  if (!request.options.has("assistant_model")) return {};
  const Result<AssistantRecipe> assistant = assistant_of(request);
  if (!assistant) return tl::unexpected(assistant.error());
  recipe.assistant = *assistant;
  return {};
}

}  // namespace

Result<void> read_generation_flags(const ServeRequest& request, GenerateRecipe& recipe) {
  FlagReader flags(request.options);
  recipe.do_sample = flags.has("do_sample");
  recipe.output_scores = flags.has("output_scores");
  recipe.output_logits = flags.has("output_logits");
  read_score_changes(flags, recipe.scores);
  if (flags.has("prompt_lookup_num_tokens"))
    recipe.prompt_lookup_num_tokens = flags.integer("prompt_lookup_num_tokens", 1, kTokens);
  if (const Result<void> read = flags.done(); !read) return read;
  if (const Result<void> read = read_assistant(request, recipe); !read) return read;
  if (const Result<void> read = check_can_go_back(request, recipe); !read) return read;
  return check_generate_recipe(recipe);
}

std::vector<Setting> generation_settings(const ServeOptions& options) {
  const option::Table flags = option::table_of(kServeFlags);
  std::vector<Setting> given;
  option::each_word(kRepeated, [&](std::string_view name) {
    const std::string* value = options.find(name);
    if (!value) return;
    const std::string_view form = option::named(flags, name)->form;
    const bool is_number = form == "N" || form == "X";
    given.push_back({std::string(name), form.empty() ? "true"
                                        : is_number  ? *value
                                                     : json_quoted(*value)});
  });
  return given;
}

}  // namespace memtape::transformers
