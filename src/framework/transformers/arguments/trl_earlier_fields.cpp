// SPDX-License-Identifier: Apache-2.0
// The fields of trl 0.9 to 0.29 that 1.16 has no longer, read from trainer/*_config.py of each of
// these releases. Those of RLOOConfig before 0.22 belong to a loop that is not modelled.
#include "framework/transformers/arguments/trl_earlier_fields.h"

#include <tuple>

namespace memtape::transformers {
namespace {

using option::OnOff;
using option::Real;
using option::Said;
using option::Text;
using option::Whole;

/// SFTConfig's name for max_length before 0.20.
Result<void> put_max_seq_length(const Said& said, TrainRecipe& recipe) {
  return to_trainer<&TrainerRecipe::max_length>(said, recipe);
}

constexpr auto kEarlierFields = std::to_array<EarlierTrlField>({
    {kOfSft,
     {0, 9, 0},
     {0, 19, 0},
     or_none(field("--max_seq_length", Whole{}, "None", put_max_seq_length))},
    {kOfSft,
     {0, 10, 0},
     {0, 17, 0},
     field("--use_liger", OnOff{}, "false", option::put<&TrainRecipe::use_liger_kernel>)},
    {kOfSft, {0, 9, 0}, {0, 17, 0}, field("--dataset_batch_size", Whole{}, "1000")},
    {kOfSft, {0, 9, 0}, {0, 17, 0}, field("--num_of_sequences", Whole{}, "1024")},
    {kOfSft, {0, 9, 0}, {0, 17, 0}, field("--chars_per_token", Real{}, "3.6")},
    // of preferences
    {kOfDpo,
     {0, 9, 0},
     {0, 28, 0},
     or_none(field("--max_prompt_length", Whole{}, "None",
                   to_trainer<&TrainerRecipe::dpo, &DpoRecipe::max_prompt_length>))},
    {kOfDpo,
     {0, 11, 0},
     {0, 28, 0},
     or_none(field("--max_completion_length", Whole{}, "None",
                   to_trainer<&TrainerRecipe::dpo, &DpoRecipe::max_completion_length>))},
    {kOfKto | kOfCpo | kOfOrpo,
     {0, 9, 0},
     {0, 25, 0},
     or_none(field("--max_prompt_length", Whole{}, "None"))},
    {kOfKto, {0, 9, 0}, {0, 25, 0}, or_none(field("--max_completion_length", Whole{}, "None"))},
    {kOfDpo, {0, 9, 0}, {0, 13, 0}, or_none(field("--max_target_length", Whole{}, "None"))},
    {kOfDpo, {0, 9, 0}, {0, 28, 0}, field("--label_pad_token_id", Text{}, "-100")},
    {kOfKto | kOfCpo | kOfOrpo,
     {0, 9, 0},
     {0, 25, 0},
     field("--label_pad_token_id", Text{}, "-100")},
    {kOfDpo | kOfKto, {0, 9, 0}, {0, 25, 0}, or_none(field("--padding_value", Whole{}, "None"))},
    {kOfDpo, {0, 9, 0}, {0, 28, 0}, field("--generate_during_eval", OnOff{}, "false", keep)},
    {kOfKto, {0, 9, 0}, {0, 25, 0}, field("--generate_during_eval", OnOff{}, "false", keep)},
    {kOfDpo, {0, 9, 0}, {0, 14, 0}, field("--is_encoder_decoder", Text{}, "None", keep)},
    {kOfKto, {0, 9, 0}, {0, 25, 0}, field("--is_encoder_decoder", Text{}, "None", keep)},
    {kOfKto | kOfCpo | kOfOrpo,
     {0, 9, 0},
     {0, 29, 0},
     field("--truncation_mode", Text{}, "keep_end")},
    {kOfDpo | kOfKto, {0, 9, 0}, {0, 28, 0}, field("--ref_model_init_kwargs", Text{}, "None")},
    {kOfDpo | kOfKto, {0, 9, 0}, {0, 28, 0}, field("--model_adapter_name", Text{}, "None", keep)},
    {kOfDpo | kOfKto, {0, 9, 0}, {0, 28, 0}, field("--ref_adapter_name", Text{}, "None", keep)},
    {kOfDpo, {0, 9, 0}, {0, 28, 0}, field("--reference_free", OnOff{}, "false", keep)},
    {kOfDpo, {0, 9, 0}, {0, 28, 0}, field("--force_use_ref_model", OnOff{}, "false", keep)},
    {kOfDpo, {0, 9, 0}, {0, 28, 0}, field("--rpo_alpha", Text{}, "None", keep)},
    {kOfDpo, {0, 13, 0}, {0, 16, 0}, field("--use_num_logits_to_keep", OnOff{}, "false", keep)},
    {kOfDpo, {0, 15, 0}, {0, 28, 0}, field("--use_logits_to_keep", OnOff{}, "false", keep)},
    {kOfDpo, {0, 14, 0}, {0, 28, 0}, field("--tools", Text{}, "None")},
    {kOfDpo, {0, 19, 0}, {0, 27, 0}, field("--use_liger_loss", OnOff{}, "false", keep)},
    {kOfKto, {0, 17, 0}, {0, 25, 0}, field("--use_liger_loss", OnOff{}, "false", keep)},
    {kOfDpo | kOfKto,
     {0, 17, 0},
     {0, 28, 0},
     field("--base_model_attribute_name", Text{}, "model")},
    {kOfKto, {0, 9, 0}, {0, 9, 0}, field("--prompt_sample_size", Whole{}, "1024")},
    {kOfKto, {0, 9, 0}, {0, 9, 0}, field("--min_density_ratio", Real{}, "0.5")},
    {kOfKto, {0, 9, 0}, {0, 9, 0}, field("--max_density_ratio", Real{}, "10.0")},
    {kOfCpo, {0, 9, 0}, {0, 10, 0}, or_none(field("--max_target_length", Whole{}, "None"))},
    // of those that generate
    {kOfGrpo | kOfRloo,
     {0, 14, 0},
     {0, 28, 0},
     or_none(field("--max_prompt_length", Whole{}, "512",
                   to_trainer<&TrainerRecipe::grpo, &GrpoRecipe::max_prompt_length>))},
    {kOfGrpo, {0, 17, 0}, {0, 27, 0}, field("--use_liger_loss", OnOff{}, "false", keep)},
    {kOfGrpo | kOfRloo,
     {0, 17, 0},
     {0, 26, 0},
     field("--wandb_log_unique_prompts", OnOff{}, "false")},
    {kOfGrpo | kOfRloo,
     {0, 16, 0},
     {0, 27, 0},
     field("--vllm_guided_decoding_regex", Text{}, "None")},
    {kOfGrpo, {0, 14, 0}, {0, 17, 0}, field("--vllm_device", Text{}, "auto")},
    {kOfGrpo, {0, 15, 0}, {0, 17, 0}, field("--vllm_dtype", Text{}, "auto")},
    {kOfGrpo, {0, 15, 0}, {0, 17, 0}, field("--vllm_max_model_len", Text{}, "None")},
    {kOfGrpo, {0, 16, 0}, {0, 17, 0}, field("--vllm_enable_prefix_caching", Text{}, "None")},
});

}  // namespace

bool EarlierTrlField::is_in(Version release) const {
  return release >= first &&
         std::tie(release.major, release.minor) <= std::tie(last.major, last.minor);
}

std::span<const EarlierTrlField> earlier_trl_fields() { return kEarlierFields; }

std::vector<std::string_view> earlier_trl_names(Trainers of) {
  std::vector<std::string_view> names;
  for (const EarlierTrlField& field : earlier_trl_fields())
    if ((field.of & of) != 0) names.push_back(field.argument.name());
  return names;
}

}  // namespace memtape::transformers
