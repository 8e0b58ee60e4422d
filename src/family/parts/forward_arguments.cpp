// SPDX-License-Identifier: Apache-2.0
#include "family/parts/forward_arguments.h"

#include <algorithm>
#include <utility>

#include "ghost/ops/creation.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "release/head_changes.h"
#include "release/transformers_changes.h"
#include "release/transformers_early_changes.h"

namespace memtape::family {
namespace {

struct SlicingHead {
  std::string_view model_type;
  const Change& since;
};

/// The heads that have sliced for a while only; all others do since kHeadsKeepLogits.
constexpr SlicingHead kSlicingHeads[] = {
    {"bloom", changes::kOlderHeadsKeepLogits},     {"codegen", changes::kOlderHeadsKeepLogits},
    {"falcon", changes::kFalconKeepsLogits},       {"falcon_mamba", changes::kOlderHeadsKeepLogits},
    {"gpt2", changes::kGpt2KeepsLogits},           {"gpt_bigcode", changes::kOlderHeadsKeepLogits},
    {"gpt_neo", changes::kOlderHeadsKeepLogits},   {"gpt_neox", changes::kGptNeoXKeepsLogits},
    {"gptj", changes::kOlderHeadsKeepLogits},      {"granite", changes::kGraniteKeepsLogits},
    {"granitemoe", changes::kLlavaKeepsLogits},    {"granitemoeshared", changes::kLlavaKeepsLogits},
    {"idefics3", changes::kIdefics3KeepsLogits},   {"llava", changes::kLlavaKeepsLogits},
    {"mamba", changes::kOlderHeadsKeepLogits},     {"mamba2", changes::kOlderHeadsKeepLogits},
    {"mistral3", changes::kLlavaKeepsLogits},      {"mpt", changes::kOlderHeadsKeepLogits},
    {"opt", changes::kOlderHeadsKeepLogits},       {"paligemma", changes::kLlavaKeepsLogits},
    {"qwen2_5_vl", changes::kQwen25VlKeepsLogits}, {"qwen2_vl", changes::kOlderHeadsKeepLogits},
    {"xglm", changes::kOlderHeadsKeepLogits},
};

/// Those that add since kPositionsAreAdded, read in the models' sources of 5.0 to 5.3.
constexpr std::string_view kAddingModels[] = {
    "apertus",        "arcee",         "bitnet",      "cohere",     "cwm",
    "deepseek_v2",    "deepseek_v3",   "ernie4_5",    "glm",        "glm4",
    "glm4_moe",       "glm4_moe_lite", "glm_moe_dsa", "helium",     "hunyuan_v1_dense",
    "hunyuan_v1_moe", "jais2",         "llama",       "nanochat",   "olmo",
    "olmo2",          "olmo3",         "seed_oss",    "solar_open", "youtu",
};

bool slices(std::string_view model_type) {
  if (!ghost::has(changes::kHeadsKeepLogits)) return false;
  const auto* const head = std::ranges::find(kSlicingHeads, model_type, &SlicingHead::model_type);
  return head == std::end(kSlicingHeads) || ghost::has(head->since);
}

}  // namespace

ForwardArguments::ForwardArguments(KeyValueCache* past_key_values, Tensor position_ids,
                                   std::int64_t logits_to_keep, Stage stage)
    : cache_(past_key_values),
      position_ids_(std::move(position_ids)),
      logits_to_keep_(logits_to_keep),
      stage_(stage) {}

Tensor passed_position_ids() {
  const auto* const passed = ghost::given_here<ForwardArguments>();
  return passed ? passed->position_ids_ : Tensor();
}

const Change& positions_added_since(std::string_view model_type) {
  const bool early = std::ranges::find(kAddingModels, model_type) != std::end(kAddingModels);
  return early ? changes::kPositionsAreAdded : changes::kAllPositionsAreAdded;
}

Tensor position_ids_for(const Tensor& inputs_embeds, const Change& added_since) {
  if (Tensor passed = passed_position_ids(); passed.defined()) return passed;
  const Tensor counted = ghost::arange(inputs_embeds.size(1), DType::int64);
  return (ghost::has(added_since) ? counted.add(0) : counted).unsqueeze(0);
}

bool is_decoding() {
  const auto* const passed = ghost::given_here<ForwardArguments>();
  return passed && passed->stage_ == ForwardArguments::Stage::decode;
}

Tensor kept_for_logits(const Tensor& hidden_states, std::string_view model_type) {
  if (!slices(model_type)) return hidden_states;
  const auto* const passed = ghost::given_here<ForwardArguments>();
  if (!passed || passed->logits_to_keep_ == 0) return ghost::indexed_by_colons(hidden_states, 3);
  const std::int64_t tokens = hidden_states.size(1);
  return hidden_states.slice(1, std::max<std::int64_t>(0, tokens - passed->logits_to_keep_),
                             tokens);
}

}  // namespace memtape::family
