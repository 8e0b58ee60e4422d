// SPDX-License-Identifier: Apache-2.0
#include "workload/sft_arguments.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "workload/trl_trainer.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

using SftSetter = Result<void> (*)(const NamedValue&, TrainRecipe&);
struct SftField {
  std::string_view name;
  SftSetter set;
};

Result<void> pass_over_for_sft(const NamedValue&, TrainRecipe&) { return {}; }

Result<void> choose_for_sft(const NamedValue& option, std::span<const std::string_view> known) {
  if (std::find(known.begin(), known.end(), option.second) != known.end()) return {};
  return wrong_value(option, suggestion(option.second, known));
}

Result<void> set_max_length(const NamedValue& option, TrainRecipe& recipe) {
  if (option.second != "None" && option.second != "none")
    return put(positive(option), recipe.trainer.max_length);
  recipe.trainer.max_length.reset();
  return {};
}

Result<void> set_packing_strategy(const NamedValue& option, TrainRecipe& recipe) {
  constexpr std::array<std::string_view, 3> kStrategies{"bfd", "bfd_split", "wrapped"};
  recipe.trainer.sft->wraps = option.second == "wrapped";
  return choose_for_sft(option, kStrategies);
}

Result<void> set_eval_packing(const NamedValue& option, TrainRecipe& recipe) {
  bool packs = false;
  const Result<void> done = put(boolean(option), packs);
  recipe.trainer.sft->eval_packing = packs;
  return done;
}

Result<void> set_loss_type(const NamedValue& option, TrainRecipe& recipe) {
  constexpr std::array<std::string_view, 3> kLosses{"nll", "dft", "chunked_nll"};
  if (const Result<void> known = choose_for_sft(option, kLosses); !known) return known;
  recipe.trainer.sft->loss_type = option.second == "chunked_nll" ? "nll" : option.second;
  return {};
}

Result<void> refuse_if_on(const NamedValue& option, TrainRecipe&) {
  const Result<bool> on = boolean(option);
  if (!on) return tl::unexpected(on.error());
  if (*on) return unsupported("not modelled", "--" + option.first, "false");
  return {};
}

constexpr auto kSftFields = std::to_array<SftField>({
    {"max_length", set_max_length},
    {"packing",
     [](const NamedValue& o, TrainRecipe& r) { return put(boolean(o), r.trainer.sft->packing); }},
    {"packing_strategy", set_packing_strategy},
    {"loss_type", set_loss_type},
    {"padding_free", [](const NamedValue& o,
                        TrainRecipe& r) { return put(boolean(o), r.trainer.sft->padding_free); }},
    {"packed_sequences",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(positive(o), r.trainer.sft->packed_sequences);
     }},
    {"activation_offloading", refuse_if_on},
    {"completion_only_loss", pass_over_for_sft},
    {"assistant_only_loss", pass_over_for_sft},
    {"dataset_text_field", pass_over_for_sft},
    {"dataset_kwargs", pass_over_for_sft},
    {"dataset_num_proc", pass_over_for_sft},
    {"model_init_kwargs", pass_over_for_sft},
    {"trust_remote_code", pass_over_for_sft},
    {"chat_template_path", pass_over_for_sft},
    {"eos_token", pass_over_for_sft},
    {"pad_token", pass_over_for_sft},
    {"truncation_mode", pass_over_for_sft},
    {"shuffle_dataset", pass_over_for_sft},
    {"eval_packing", set_eval_packing},
    {"pad_to_multiple_of", pass_over_for_sft},
    {"router_aux_loss_coef",
     [](const NamedValue& o, TrainRecipe& r) {
       const Result<double> coef = not_negative(o);
       if (!coef) return Result<void>(tl::unexpected(coef.error()));
       r.trainer.balances_experts = *coef != 0.0;
       return Result<void>();
     }},
});

constexpr auto kSftNames = [] {
  std::array<std::string_view, kSftFields.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kSftFields[i].name;
  return names;
}();

const std::string* value_of(std::span<const NamedValue> options, std::string_view name) {
  for (const NamedValue& option : options)
    if (option.first == name) return &option.second;
  return nullptr;
}

/// How many sequences the rows of a micro-batch hold, where they hold several.
Result<void> settle_packed_sequences(SftRecipe& sft, TrainRecipe& recipe) {
  const std::int64_t rows = recipe.micro_batch_size;
  if (!sft.packing || !sft.flattens() || sft.wraps) {
    if (sft.packed_sequences)
      return bad_input("only rows that are packed hold several sequences", "--packed_sequences",
                       "--packing true with the strategy bfd or bfd_split");
    sft.packed_sequences = rows;
    return {};
  }
  if (!sft.packed_sequences)
    recipe.assumed.emplace_back(
        "each row is taken to hold two sequences: --packed_sequences says how many a micro-batch "
        "holds; with more of them a little less is kept for the loss");
  sft.packed_sequences = sft.packed_sequences.value_or(2 * rows);
  if (*sft.packed_sequences >= rows && *sft.packed_sequences <= rows * recipe.sequence_length / 2)
    return {};
  return bad_input(
      "a row holds one sequence at least, and a sequence two tokens", "--packed_sequences",
      "from " + std::to_string(rows) + " to " + std::to_string(rows * recipe.sequence_length / 2));
}

}  // namespace

std::span<const std::string_view> sft_argument_names() { return kSftNames; }

bool is_sft_argument(std::string_view name) {
  return std::find(kSftNames.begin(), kSftNames.end(), name) != kSftNames.end();
}

bool asks_for_sft(std::span<const NamedValue> options) {
  return asks_for(options, "sft", is_sft_argument);
}

void set_sft_defaults(std::span<const NamedValue> options, TrainRecipe& recipe) {
  set_trl_defaults(options, recipe);
  recipe.trainer.sft.emplace();
  recipe.trainer.max_length = 1024;
}

void set_trl_defaults(std::span<const NamedValue> options, TrainRecipe& recipe) {
  recipe.checkpointing = Checkpointing::full;
  const std::string* fp16 = value_of(options, "fp16");
  const bool half = fp16 && boolean({"fp16", *fp16}).value_or(false);
  recipe.precision = half ? Precision::fp32 : Precision::amp_bf16;
}

Result<void> set_sft_argument(const NamedValue& option, TrainRecipe& recipe) {
  for (const SftField& field : kSftFields)
    if (field.name == option.first) return field.set(option, recipe);
  return {};
}

void apply_max_length(std::span<const NamedValue> options, TrainRecipe& recipe) {
  if (!recipe.trainer.max_length) return;
  const std::int64_t most = *recipe.trainer.max_length;
  const bool packs = recipe.trainer.sft && recipe.trainer.sft->packing;
  const bool as_long = packs || !value_of(options, "sequence-length");
  recipe.sequence_length = as_long ? most : std::min(recipe.sequence_length, most);
}

Result<void> settle_sft(TrainRecipe& recipe) {
  if (!recipe.trainer.sft) return {};
  SftRecipe& sft = *recipe.trainer.sft;
  if (sft.packing && !recipe.trainer.max_length)
    return bad_input("rows are packed to max_length", "--max_length", "a number of tokens");
  if (sft.padding_free && !sft.packing && recipe.trainer.max_length)
    return bad_input("SFTTrainer refuses padding_free with a max_length that nothing enforces",
                     "--max_length", "None, or --packing true");
  return settle_packed_sequences(sft, recipe);
}

}  // namespace memtape
