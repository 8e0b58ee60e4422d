// SPDX-License-Identifier: Apache-2.0
#include "predict/train_warnings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "family/registry.h"
#include "framework/dialects.h"
#include "framework/torch/built_parameters.h"
#include "framework/torch/train_loop.h"
#include "model/header_check.h"

namespace memtape {
namespace {

using Lines = std::vector<std::string>;

/// A loop over experts cuts rows up; transformers' other implementations have rows of all experts
/// in one tensor.
bool depends_on_routing(const Config& config, const TrainRecipe& recipe, const Dialect& dialect) {
  const family::FamilyFacts* const facts = family::facts_of(config);
  return (dialect.depends_on_routing && dialect.depends_on_routing(recipe)) ||
         config.text("experts_implementation", "") == "eager" ||
         (facts && facts->loops_over_experts);
}

/// Where the checkpoint's header does not agree with what the family builds.
void warn_of_header(const ModelRequest& model, const TrainRecipe& recipe, Lines& warnings) {
  if (!model.header || !model.config.is_null("quantization_config")) return;
  const auto built = torch::built_parameters(model.config, recipe);
  if (!built) return;
  std::vector<ExpectedParameter> expected;
  std::vector<std::string_view> tied;
  for (const torch::BuiltParameter& parameter : *built) {
    expected.push_back({parameter.name, parameter.shape});
    if (parameter.is_tied) tied.push_back(parameter.name);
  }
  constexpr std::array<std::string_view, 6> kBuffers{"inv_freq",     "masked_bias",
                                                     "attn.bias",    "attn.attention.bias",
                                                     "position_ids", "final_logits_bias"};
  const std::string_view first =
      built->empty() ? std::string_view() : std::string_view(built->front().name);
  const HeaderCheck check{.parameters = expected,
                          .tied = tied,
                          .buffers = kBuffers,
                          .base_model_prefix = first.substr(0, first.find('.'))};
  for (std::string& line : check_header(check, *model.header)) warnings.push_back(std::move(line));
}

/// By its configuration, or by the names of its parameters where transformers has the model.
bool has_experts(const Config& config, const TrainRecipe& recipe) {
  const auto names_some = [](std::string_view text) {
    return text.find("expert") != text.npos || text.find("moe") != text.npos;
  };
  if (names_some(config.json())) return true;
  const auto built = torch::built_parameters(config, recipe);
  return built && std::ranges::any_of(*built, names_some, &torch::BuiltParameter::name);
}

}  // namespace

Result<void> check_expert_load(const ModelRequest& model, const TrainRecipe& recipe) {
  if (recipe.expert_load.is_balanced() || has_experts(model.config, recipe)) return {};
  return bad_input("the model has no experts", "--imbalance", "leave it out");
}

void add_train_warnings(const ModelRequest& model, const TrainRecipe& recipe, Lines& warnings) {
  const family::FamilyFacts* const facts = family::facts_of(model.config);
  if (facts && family::lies_on_the_hub(*facts, recipe.release))
    warnings.push_back(
        fmt::format("{} runs code of its own repository, which transformers does not have: this is "
                    "the answer for {}, the family nearest to it; its activations may differ",
                    facts->model_type, facts->nearest));
  const Dialect& dialect = dialect_of(recipe);
  if (dialect.warnings)
    for (std::string& line : dialect.warnings(model.config, recipe))
      warnings.push_back(std::move(line));
  if (!recipe.expert_load.is_balanced() && !depends_on_routing(model.config, recipe, dialect))
    warnings.push_back(
        "--imbalance changes nothing here: no size depends on it how tokens are "
        "spread over experts");
  for (const Lines* lines : {&recipe.assumed, &recipe.not_modelled})
    warnings.insert(warnings.end(), lines->begin(), lines->end());
  if (!dialect.runs_every_micro_batch && recipe.gradient_accumulation > torch::kMostMicroBatches)
    warnings.push_back(fmt::format("micro-batches after the {}th are taken to repeat it",
                                   torch::kMostMicroBatches));
  const std::int64_t positions = model.config.integer(
      "max_position_embeddings", model.config.integer("n_positions", recipe.sequence_length));
  if (recipe.sequence_length > positions)
    warnings.push_back(fmt::format("--sequence-length {} is more than the model's {} positions",
                                   recipe.sequence_length, positions));
  if (facts && facts->taken_otherwise)
    if (std::string line = facts->taken_otherwise(model.config, recipe.release); !line.empty())
      warnings.push_back(std::move(line));
  warn_of_header(model, recipe, warnings);
}

}  // namespace memtape
