// SPDX-License-Identifier: Apache-2.0
// The fields of trl 0.9 to 0.29 that 1.16 has no longer, read from trainer/*_config.py of each of
// these releases. Those of RLOOConfig before 0.22 belong to a loop that is not modelled.
#include "framework/transformers/arguments/trl_earlier_fields.h"

#include <tuple>

namespace memtape::transformers {
namespace {

using option::OnOff;
using option::Said;
using option::Whole;

/// SFTConfig's name for max_length before 0.20.
Result<void> put_max_seq_length(const Said& said, TrainRecipe& recipe) {
  return to_trainer<&TrainerRecipe::max_length>(said, recipe);
}

/// Those on which memory depends.
constexpr auto kEarlierFields = std::to_array<EarlierTrlField>({
    {kOfSft,
     {0, 9, 0},
     {0, 19, 0},
     or_none(field("--max_seq_length", Whole{}, "None", put_max_seq_length))},
    {kOfSft,
     {0, 10, 0},
     {0, 17, 0},
     field("--use_liger", OnOff{}, "false", option::put<&TrainRecipe::use_liger_kernel>)},
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
    {kOfGrpo | kOfRloo,
     {0, 14, 0},
     {0, 28, 0},
     or_none(field("--max_prompt_length", Whole{}, "512",
                   to_trainer<&TrainerRecipe::grpo, &GrpoRecipe::max_prompt_length>))},
});

}  // namespace

bool EarlierTrlField::is_in(Version release) const {
  return release >= first &&
         std::tie(release.major, release.minor) <= std::tie(last.major, last.minor);
}

std::span<const EarlierTrlField> earlier_trl_fields() {
  static const auto all =
      joined<EarlierTrlField>(kEarlierFields, data::neutral_earlier_trl_fields());
  return all;
}

std::vector<std::string_view> earlier_trl_names(Trainers of) {
  std::vector<std::string_view> names;
  for (const EarlierTrlField& field : earlier_trl_fields())
    if ((field.of & of) != 0) names.push_back(field.argument.name());
  return names;
}

}  // namespace memtape::transformers
