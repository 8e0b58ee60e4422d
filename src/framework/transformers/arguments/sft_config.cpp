// SPDX-License-Identifier: Apache-2.0
// trl's SFTConfig (1.16, trainer/sft_config.py).
#include <array>

#include "framework/transformers/arguments/trl_config.h"

namespace memtape::transformers {
namespace {

using option::Choice;
using option::OnOff;
using option::put;
using option::Real;
using option::Said;
using option::Whole;

constexpr auto kPackingStrategies =
    std::to_array<std::string_view>({"bfd", "bfd_split", "wrapped"});
constexpr auto kSftLosses = std::to_array<std::string_view>({"nll", "dft", "chunked_nll"});

Result<void> set_packing_strategy(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.sft->wraps = said.text == "wrapped";
  return {};
}

Result<void> set_sft_loss(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.sft->loss_type = said.text == "chunked_nll" ? "nll" : said.text;
  return {};
}

Result<void> set_router_aux_loss_coef(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.balances_experts = said.real() != 0.0;
  return {};
}

void start_sft(TrainRecipe& recipe) {
  recipe.trainer.sft.emplace();
  recipe.trainer.max_length = 1024;
}

constexpr auto kOfSft = &TrainerRecipe::sft;

constexpr auto kSftOwn = std::to_array<Argument>({
    or_none(field("--max_length", Whole{}, put<kTrainer, &TrainerRecipe::max_length>, "1024")),
    field("--packing", OnOff{}, put<kTrainer, kOfSft, &SftRecipe::packing>, "false"),
    field("--packing_strategy", Choice{kPackingStrategies}, set_packing_strategy, "bfd"),
    field("--loss_type", Choice{kSftLosses}, set_sft_loss, "nll"),
    field("--padding_free", OnOff{}, put<kTrainer, kOfSft, &SftRecipe::padding_free>, "false"),
    field("--packed_sequences", Whole{}, put<kTrainer, kOfSft, &SftRecipe::packed_sequences>),
    field("--activation_offloading", OnOff{}, keep_off, "false"),
    field("--eval_packing", OnOff{}, put<kTrainer, kOfSft, &SftRecipe::eval_packing>),
    field("--router_aux_loss_coef", Real{}, set_router_aux_loss_coef),
});

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

const TrlConfig kSft{
    .trainer = "sft",
    .name = "SFTConfig",
    .start = start_sft,
    .own = kSftOwn,
    .own_without_effect =
        "--completion_only_loss --assistant_only_loss --dataset_text_field --dataset_kwargs "
        "--dataset_num_proc --model_init_kwargs --trust_remote_code --chat_template_path "
        "--eos_token --pad_token --truncation_mode --shuffle_dataset --pad_to_multiple_of"};

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

}  // namespace memtape::transformers
