// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/fsdp_config.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>
#include <sstream>
#include <string>

#include "base/comma_list.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "framework/transformers/trainer_recipe.h"
#include "model/config_fields.h"
#include "release/trainer_changes.h"

namespace memtape::transformers {
namespace {

/// Values may be texts of what they are.
std::string word_of(const Config& json, std::string_view name) {
  std::string text = json.json(name);
  return text.size() > 1 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
}

template <auto member>
Result<void> put_on(const Config& json, std::string_view name, FsdpConfig& into) {
  if (json.is_null(name)) return {};
  const std::string text = word_of(json, name);
  const Result<bool> is_on = option::read_on_off(name, text);
  if (!is_on || text.empty()) json.fail(name, "must be true or false, found " + text);
  into.*member = is_on.value_or(false);
  return {};
}

template <auto member>
Result<void> put_whole(const Config& json, std::string_view name, FsdpConfig& into) {
  if (json.is_null(name)) return {};
  const std::string text = word_of(json, name);
  constexpr option::Whole kAny{.least = 0, .most = std::numeric_limits<std::int64_t>::max()};
  const Result<std::int64_t> n = option::read_whole(name, text, kAny);
  if (!n) json.fail(name, "must be a whole number, found " + text);
  into.*member = n.value_or(0);
  return {};
}

constexpr auto kStrategies = std::to_array<std::string_view>(
    {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"});
constexpr auto kPrefetches =
    std::to_array<std::string_view>({"BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"});
constexpr auto kPolicies =
    std::to_array<std::string_view>({"TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"});

/// One of `choices`, in whatever case; a number counts from 1.
std::optional<std::string> chosen(std::span<const std::string_view> choices, std::string text) {
  text = upper_case(text);
  for (std::size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == text || std::to_string(i + 1) == text) return std::string(choices[i]);
  return std::nullopt;
}

template <auto member, const auto& choices>
Result<void> put_choice(const Config& json, std::string_view name, FsdpConfig& into) {
  if (json.is_null(name)) return {};
  const std::string text = word_of(json, name);
  into.*member = chosen(choices, text);
  if (!(into.*member))
    json.fail(name, "must be " + suggestion(upper_case(text), choices) + ", found " + text);
  return {};
}

/// A list of names, or one text with commas between.
Result<void> put_classes(const Config& json, std::string_view name, FsdpConfig& into) {
  if (json.is_null(name)) return {};
  into.layer_classes =
      json.json(name).front() == '[' ? json.texts(name) : split_at_commas(word_of(json, name));
  return {};
}

Result<void> put_reshard(const Config& json, std::string_view name, FsdpConfig& into) {
  if (!json.is_null(name)) into.reshard_after_forward = word_of(json, name);
  return {};
}

using C = FsdpConfig;
/// FullyShardedDataParallelPlugin (accelerate/utils/dataclasses.py) and Trainer's own keys. xla* are
/// for TPUs.
constexpr auto kFields = std::to_array<ConfigField<FsdpConfig>>({
    {"fsdp_version version", put_whole<&C::version>},
    {"fsdp_reshard_after_forward reshard_after_forward", put_reshard},
    {"fsdp_sharding_strategy sharding_strategy", put_choice<&C::sharding_strategy, kStrategies>},
    {"fsdp_backward_prefetch backward_prefetch", put_choice<&C::backward_prefetch, kPrefetches>},
    {"fsdp_forward_prefetch forward_prefetch", put_on<&C::forward_prefetch>},
    {"fsdp_use_orig_params use_orig_params", put_on<&C::use_orig_params>},
    {"fsdp_sync_module_states sync_module_states", put_on<&C::sync_module_states>},
    {"fsdp_cpu_ram_efficient_loading cpu_ram_efficient_loading", put_on<&C::loads_on_one_rank>},
    {"fsdp_cpu_offload cpu_offload", put_on<&C::cpu_offload>},
    {"fsdp_offload_params offload_params", put_on<&C::offload_params>},
    {"fsdp_activation_checkpointing activation_checkpointing",
     put_on<&C::activation_checkpointing>},
    {"fsdp_auto_wrap_policy auto_wrap_policy", put_choice<&C::auto_wrap_policy, kPolicies>},
    {"fsdp_min_num_params min_num_params", put_whole<&C::min_num_params>},
    {"fsdp_transformer_layer_cls_to_wrap transformer_layer_cls_to_wrap", put_classes},
    {"fsdp_xla xla", put_on<&C::xla>},
    {"upcast_trained", put_on<&C::upcast_trained>},
    {"reentrant_wrappers", put_on<&C::reentrant_wrappers>},
    {"fsdp_limit_all_gathers limit_all_gathers fsdp_state_dict_type state_dict_type "
     "fsdp_xla_fsdp_v2 xla_fsdp_v2 fsdp_xla_fsdp_settings xla_fsdp_settings "
     "fsdp_xla_fsdp_grad_ckpt xla_fsdp_grad_ckpt"},
});

/// What fsdp_config says comes before the older words of fsdp.
Result<void> settle_sharding(const FsdpConfig& config, const Release& release, FsdpRecipe& fsdp) {
  fsdp.version =
      static_cast<int>(config.version.value_or(release.has(changes::kFsdpIsVersion2) ? 2 : 1));
  if (fsdp.version != 1 && fsdp.version != 2)
    return bad_input("no such version of FSDP", "--fsdp_config: version", "1 or 2");
  const std::string& reshard = config.reshard_after_forward;
  if (fsdp.version == 2) {
    const bool grad_op = fsdp.sharding_strategy == "SHARD_GRAD_OP";
    if (!grad_op && fsdp.sharding_strategy != "FULL_SHARD")
      return bad_input(fsdp.sharding_strategy + " is FSDP1's alone", "--fsdp",
                       R"(--fsdp_config '{"version": 1}')");
    const Result<bool> on = option::read_on_off("reshard_after_forward", reshard);
    if (!on)
      return bad_input("must be true or false, found " + reshard,
                       "--fsdp_config: reshard_after_forward");
    fsdp.reshard_after_forward = reshard.empty() ? !grad_op : *on;
    return {};
  }
  // The plugin's sharding_strategy comes from accelerate launch alone and hides the
  // reshard_after_forward that Trainer hands over (accelerator.py, prepare_model).
  if (!reshard.empty() && !chosen(kStrategies, reshard))
    return bad_input("must be " + suggestion(reshard, kStrategies) + ", found " + reshard,
                     "--fsdp_config: reshard_after_forward");
  if (config.sharding_strategy || release.has(changes::kFsdpWordsAreHidden))
    fsdp.sharding_strategy = config.sharding_strategy.value_or("FULL_SHARD");
  if (fsdp.sharding_strategy.starts_with("HYBRID"))
    return unsupported("hybrid sharding under Trainer is not modelled",
                       "--fsdp_config: sharding_strategy", "FULL_SHARD");
  return {};
}

Result<void> settle_wrapping(const FsdpConfig& config, const Release& release, FsdpRecipe& fsdp) {
  const bool wraps =
      release.has(changes::kFsdpIsVersion2) || fsdp.wrap != FsdpRecipe::Wrap::nothing;
  const std::string policy =
      config.auto_wrap_policy.value_or(wraps ? "TRANSFORMER_BASED_WRAP" : "NO_WRAP");
  fsdp.wrap = policy == "NO_WRAP"           ? FsdpRecipe::Wrap::nothing
              : policy == "SIZE_BASED_WRAP" ? FsdpRecipe::Wrap::by_size
                                            : FsdpRecipe::Wrap::layers;
  fsdp.min_num_params = config.min_num_params.value_or(0);
  fsdp.layer_classes = config.layer_classes;
  if (fsdp.wrap != FsdpRecipe::Wrap::by_size) return {};
  if (fsdp.version == 2)
    return bad_input("fully_shard does not take the lists of layers that this policy finds",
                     "--fsdp_config: auto_wrap_policy", "TRANSFORMER_BASED_WRAP");
  if (fsdp.min_num_params == 0) fsdp.wrap = FsdpRecipe::Wrap::nothing;
  return {};
}

}  // namespace

Result<void> set_fsdp(const option::Said& said, TrainRecipe& recipe) {
  if (const Result<bool> on = option::read_on_off(said.name(), said.text)) {
    if (*on && !trainer_of(recipe).fsdp) trainer_of(recipe).fsdp.emplace();
    if (!*on) trainer_of(recipe).fsdp.reset();
    return {};
  }
  constexpr auto kWords =
      std::to_array<std::string_view>({"full_shard", "shard_grad_op", "no_shard", "hybrid_shard",
                                       "hybrid_shard_zero2", "offload", "auto_wrap"});
  FsdpRecipe fsdp;
  fsdp.wrap = FsdpRecipe::Wrap::nothing;
  std::istringstream words{std::string(said.text)};
  for (std::string word; words >> word;) {
    if (std::ranges::find(kWords, word) == kWords.end())
      return option::unusable(said.name(), said.text, suggestion(word, kWords));
    if (word == "offload")
      fsdp.cpu_offload = true;
    else if (word == "auto_wrap")
      fsdp.wrap = FsdpRecipe::Wrap::layers;
    else
      fsdp.sharding_strategy = upper_case(word);
  }
  trainer_of(recipe).fsdp = fsdp;
  return {};
}

Result<void> set_fsdp_config(const option::Said& said, TrainRecipe& recipe) {
  FsdpConfig& config = trainer_of(recipe).fsdp_config = {};
  return said.text.empty() ? Result<void>()
                           : read_object(said.text, "--fsdp_config", kFields, config);
}

Result<void> finish_fsdp(TrainRecipe& recipe) {
  if (!trainer_of(recipe).fsdp) return {};
  recipe.loads_on_host = true;
  FsdpRecipe& fsdp = *trainer_of(recipe).fsdp;
  const FsdpConfig& config = trainer_of(recipe).fsdp_config;
  if (config.xla) return unsupported("FSDP on TPUs is not modelled", "--fsdp_config: xla", "false");
  for (const auto step : {settle_sharding, settle_wrapping})
    if (const Result<void> fine = step(config, recipe.release, fsdp); !fine) return fine;
  fsdp.backward_prefetch = config.backward_prefetch.value_or("NO_PREFETCH");
  fsdp.forward_prefetch = config.forward_prefetch;
  fsdp.use_orig_params = config.use_orig_params;
  fsdp.sync_module_states = config.sync_module_states || config.loads_on_one_rank;
  fsdp.cpu_offload = config.cpu_offload.value_or(fsdp.cpu_offload) || config.offload_params;
  fsdp.activation_checkpointing = config.activation_checkpointing;
  fsdp.reentrant_wrappers = config.activation_checkpointing && config.reentrant_wrappers;
  if (fsdp.activation_checkpointing && recipe.checkpointing != Checkpointing::none)
    return bad_input("Trainer refuses both", "--gradient_checkpointing",
                     "activation_checkpointing of --fsdp_config alone");
  if (recipe.layout.gpus == 1)
    return bad_input("Trainer uses FSDP in distributed training only", "--fsdp",
                     "--gpus 2 or more");
  return {};
}

}  // namespace memtape::transformers
