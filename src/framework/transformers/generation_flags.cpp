// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/generation_flags.h"

#include <array>
#include <optional>
#include <string>

namespace memtape::transformers {
namespace {

constexpr std::array<std::string_view, 3> kSwitches{"do_sample", "output_scores", "output_logits"};
constexpr std::array<std::string_view, 7> kNumbers{"temperature",
                                                   "top_k",
                                                   "top_p",
                                                   "min_p",
                                                   "typical_p",
                                                   "repetition_penalty",
                                                   "prompt_lookup_num_tokens"};

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
  if (!recipe.prompt_lookup_num_tokens) return {};
  if (recipe.batch_size > 1 || beams)
    return bad_input("assisted decoding takes one prompt and no beams",
                     "--prompt_lookup_num_tokens", "--batch-size 1");
  if (recipe.cache != family::CacheKind::dynamic)
    return bad_input("assisted decoding goes back to earlier tokens, which takes a dynamic cache",
                     "--cache_implementation", "dynamic or offloaded");
  if (recipe.prefill_chunk_size)
    return bad_input("assisted decoding has no prefill of its own that could be divided",
                     "--prefill_chunk_size", "leave it out");
  return {};
}

}  // namespace

Result<void> read_generation_flags(const ServeOptions& options, GenerateRecipe& recipe) {
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
  return check(recipe);
}

std::vector<Setting> generation_settings(const ServeOptions& options) {
  std::vector<Setting> given;
  for (const std::string_view name : kSwitches)
    if (options.has(name)) given.push_back({std::string(name), "true"});
  for (const std::string_view name : kNumbers)
    if (const std::string* value = options.find(name)) given.push_back({std::string(name), *value});
  return given;
}

}  // namespace memtape::transformers
