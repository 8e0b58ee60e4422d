// SPDX-License-Identifier: Apache-2.0
#include "workload/kto_arguments.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "workload/dpo_arguments.h"
#include "workload/sft_arguments.h"
#include "workload/trl_trainer.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

constexpr auto kKtoOwn =
    std::to_array<std::string_view>({"desirable_weight", "undesirable_weight"});
/// DPOConfig's that KTOConfig has, too, and that change no figure.
constexpr auto kKtoNeutral = std::to_array<std::string_view>(
    {"beta", "precompute_ref_batch_size", "ref_model_mixup_alpha", "ref_model_sync_steps"});
/// SFTConfig's that KTOConfig has, too.
constexpr auto kKtoShared =
    std::to_array<std::string_view>({"max_length", "pad_to_multiple_of", "activation_offloading",
                                     "model_init_kwargs", "trust_remote_code", "dataset_num_proc"});
constexpr auto kKtoLosses = std::to_array<std::string_view>({"kto", "apo_zero_unpaired"});

bool is_among_kto(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::span<const std::string_view> kto_argument_names() { return kKtoOwn; }

bool is_kto_argument(std::string_view name) { return is_among_kto(kKtoOwn, name); }

bool asks_for_kto(std::span<const NamedValue> options) {
  return asks_for(options, "kto", is_kto_argument);
}

void set_kto_defaults(std::span<const NamedValue> options, TrainRecipe& recipe) {
  set_trl_defaults(options, recipe);
  recipe.trainer.kto.emplace();
  recipe.trainer.max_length = 1024;
}

Result<void> set_kto_argument(const NamedValue& option, TrainRecipe& recipe) {
  KtoRecipe& kto = *recipe.trainer.kto;
  const std::string& name = option.first;
  if (name == "precompute_ref_log_probs") return put(boolean(option), kto.precompute_ref_log_probs);
  if (name == "disable_dropout") return put(boolean(option), kto.disable_dropout);
  if (name == "loss_type") {
    if (!is_among_kto(kKtoLosses, option.second))
      return wrong_value(option, suggestion(option.second, kKtoLosses));
    kto.has_kl_term = option.second == "kto";
    return {};
  }
  if (name == "sync_ref_model") return check_sync_ref_model(option);
  if (is_kto_argument(name) || is_among_kto(kKtoNeutral, name)) return {};
  if (is_among_kto(kKtoShared, name)) return set_sft_argument(option, recipe);
  return bad_input("KTOConfig has no such field", "--" + name,
                   "another of trl's configurations has it");
}

}  // namespace memtape
