// SPDX-License-Identifier: Apache-2.0
#include "workload/optim_arguments.h"

#include <algorithm>
#include <array>

#include "base/pattern.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

struct Optim {
  std::string_view name;
  OptimizerName optimizer;
  OptimizerImpl form;
};
constexpr auto kOptims = std::to_array<Optim>({
    {"adamw_torch_fused", OptimizerName::adamw, OptimizerImpl::fused},
    {"adamw_torch", OptimizerName::adamw, OptimizerImpl::foreach},
    {"sgd", OptimizerName::sgd, OptimizerImpl::foreach},
    {"adagrad", OptimizerName::adagrad, OptimizerImpl::foreach},
    {"rmsprop", OptimizerName::rmsprop, OptimizerImpl::foreach},
    {"adafactor", OptimizerName::adafactor_hf, OptimizerImpl::for_loop},
});
struct BitsAndBytesName {
  std::string_view name;
  BitsAndBytesOptim optim;
};
using Algorithm = BitsAndBytesOptim::Algorithm;
/// One state as Lion has (Optimizer1State).
constexpr BitsAndBytesOptim kRmsProp{Algorithm::lion, 32, false};
constexpr auto kBitsAndBytes = std::to_array<BitsAndBytesName>({
    {"adamw_bnb_8bit", {Algorithm::adamw, 8, false}},
    {"adamw_8bit", {Algorithm::adamw, 8, false}},
    {"paged_adamw_32bit", {Algorithm::adamw, 32, true}},
    {"paged_adamw_8bit", {Algorithm::adamw, 8, true}},
    {"lion_32bit", {Algorithm::lion, 32, false}},
    {"lion_8bit", {Algorithm::lion, 8, false}},
    {"paged_lion_32bit", {Algorithm::lion, 32, true}},
    {"paged_lion_8bit", {Algorithm::lion, 8, true}},
    {"rmsprop_bnb", kRmsProp},
    {"rmsprop_bnb_8bit", {kRmsProp.algorithm, 8, false}},
    {"rmsprop_bnb_32bit", kRmsProp},
    {"ademamix", {Algorithm::ademamix, 32, false}},
    {"ademamix_8bit", {Algorithm::ademamix, 8, false}},
    {"paged_ademamix_32bit", {Algorithm::ademamix, 32, true}},
    {"paged_ademamix_8bit", {Algorithm::ademamix, 8, true}},
});
/// Of lomo-optim, schedulefree, torch-optimi, galore-torch, apollo-torch, grokadamw and torchao.
constexpr auto kOfOtherPackages = std::to_array<std::string_view>(
    {"lomo", "adalomo", "schedule_free_adamw", "schedule_free_radam", "schedule_free_sgd",
     "stable_adamw", "galore_adamw", "galore_adamw_8bit", "galore_adafactor",
     "galore_adamw_layerwise", "galore_adamw_8bit_layerwise", "galore_adafactor_layerwise",
     "apollo_adamw", "apollo_adamw_layerwise", "grokadamw", "adamw_torch_4bit",
     "adamw_torch_8bit"});
constexpr auto kOtherOptims = std::to_array<std::string_view>(
    {"adamw_torch_xla", "adamw_torch_npu_fused", "adamw_anyprecision"});

using OptimSetter = Result<void> (*)(const NamedValue&, TrainRecipe&);
struct OptimArg {
  std::string_view name;
  OptimSetter set;
};

Result<void> pass_over_for_optim(const NamedValue&, TrainRecipe&) { return {}; }

/// The index of the value among `known`.
Result<std::size_t> one_of(const NamedValue& option, std::span<const std::string_view> known) {
  const auto at = std::ranges::find(known, option.second);
  if (at == known.end()) return wrong_value(option, suggestion(option.second, known));
  return static_cast<std::size_t>(at - known.begin());
}

Result<void> set_proj_type(const NamedValue& option, TrainRecipe& recipe) {
  constexpr std::array<std::string_view, 5> kSides{"std", "reverse_std", "left", "right", "full"};
  const Result<std::size_t> side = one_of(option, kSides);
  if (!side) return tl::unexpected(side.error());
  recipe.trainer.low_rank.proj_type = static_cast<LowRankRecipe::Side>(*side);
  return {};
}

Result<void> set_switch(const NamedValue& option, std::span<const std::string_view> off_on,
                        bool& on) {
  const Result<std::size_t> at = one_of(option, off_on);
  if (!at) return tl::unexpected(at.error());
  on = *at == 1;
  return {};
}

Result<void> set_momentum(const NamedValue& option, TrainRecipe& recipe) {
  const Result<double> momentum = not_negative(option);
  if (!momentum) return tl::unexpected(momentum.error());
  recipe.trainer.optim_args.momentum = *momentum != 0;
  return {};
}

Result<void> set_kahan_sum(const NamedValue& option, TrainRecipe& recipe) {
  recipe.trainer.optim_args.kahan_sum = option.second != "None";
  return {};
}

/// Every name that some optimizer of trainer_optimizer.py reads.
constexpr auto kOptimArgs = std::to_array<OptimArg>({
    {"rank",
     [](const NamedValue& o, TrainRecipe& r) { return put(positive(o), r.trainer.low_rank.rank); }},
    {"update_proj_gap",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(positive(o), r.trainer.low_rank.update_proj_gap);
     }},
    {"proj_type", set_proj_type},
    {"proj",
     [](const NamedValue& o, TrainRecipe& r) {
       constexpr std::array<std::string_view, 2> kKinds{"random", "svd"};
       return set_switch(o, kKinds, r.trainer.low_rank.svd);
     }},
    {"scale_type",
     [](const NamedValue& o, TrainRecipe& r) {
       constexpr std::array<std::string_view, 2> kKinds{"channel", "tensor"};
       return set_switch(o, kKinds, r.trainer.low_rank.per_tensor);
     }},
    {"momentum", set_momentum},
    {"centered", [](const NamedValue& o,
                    TrainRecipe& r) { return put(boolean(o), r.trainer.optim_args.centered); }},
    {"kahan_sum", set_kahan_sum},
    {"scale", pass_over_for_optim},
    {"beta1", pass_over_for_optim},
    {"beta2", pass_over_for_optim},
    {"beta3", pass_over_for_optim},
    {"alpha", pass_over_for_optim},
    {"eps", pass_over_for_optim},
    {"t_alpha", pass_over_for_optim},
    {"t_beta3", pass_over_for_optim},
    {"dampening", pass_over_for_optim},
    {"weight_decay", pass_over_for_optim},
    {"nesterov", pass_over_for_optim},
    {"lr_decay", pass_over_for_optim},
    {"initial_accumulator_value", pass_over_for_optim},
    {"alpha_init", pass_over_for_optim},
    {"lamb", pass_over_for_optim},
    {"gamma", pass_over_for_optim},
    {"grokking_signal_decay_rate", pass_over_for_optim},
    {"gradient_clipping", pass_over_for_optim},
    {"weight_lr_power", pass_over_for_optim},
    {"r", pass_over_for_optim},
    {"max_lr", pass_over_for_optim},
    {"decouple_lr", pass_over_for_optim},
    {"bf16_stochastic_round", pass_over_for_optim},
});

Result<void> set_optim_arg(const NamedValue& arg, TrainRecipe& recipe) {
  std::vector<std::string_view> names;
  for (const OptimArg& known : kOptimArgs) {
    if (known.name == arg.first) {
      Result<void> done = known.set(arg, recipe);
      if (!done) done.error().where = "--optim_args: " + arg.first;
      return done;
    }
    names.push_back(known.name);
  }
  return bad_input("no optimizer of Trainer reads \"" + arg.first + "\"", "--optim_args",
                   suggestion(arg.first, names));
}

}  // namespace

bool is_other_optim(std::string_view name) {
  return std::ranges::find(kOfOtherPackages, name) != kOfOtherPackages.end() ||
         std::ranges::find(kBitsAndBytes, name, &BitsAndBytesName::name) != kBitsAndBytes.end();
}

Result<void> set_optim(const NamedValue& option, TrainRecipe& recipe) {
  std::vector<std::string_view> names;
  for (const Optim& optim : kOptims) {
    names.push_back(optim.name);
    if (optim.name != option.second) continue;
    recipe.optimizer = optim.optimizer;
    recipe.optimizer_impl = optim.form;
    recipe.trainer.bitsandbytes_optim.reset();
    recipe.trainer.optim = option.second;
    return {};
  }
  for (const std::string_view known : kOfOtherPackages) {
    names.push_back(known);
    if (known != option.second) continue;
    recipe.trainer.bitsandbytes_optim.reset();
    recipe.trainer.optim = option.second;
    return {};
  }
  for (const BitsAndBytesName& known : kBitsAndBytes) {
    names.push_back(known.name);
    if (known.name != option.second) continue;
    recipe.trainer.bitsandbytes_optim = known.optim;
    recipe.trainer.optim = option.second;
    return {};
  }
  if (std::find(kOtherOptims.begin(), kOtherOptims.end(), option.second) != kOtherOptims.end())
    return unsupported("the optimizer \"" + option.second + "\" is not modelled", "--optim",
                       suggestion("", names));
  names.insert(names.end(), kOtherOptims.begin(), kOtherOptims.end());
  return wrong_value(option, suggestion(option.second, names));
}

Result<void> set_optim_by_common_names(TrainRecipe& recipe) {
  const bool hf = recipe.optimizer == OptimizerName::adafactor;
  const OptimizerName wanted = hf ? OptimizerName::adafactor_hf : recipe.optimizer;
  for (const Optim& optim : kOptims) {
    if (optim.optimizer != wanted) continue;
    if (recipe.names_optimizer_impl && optim.form != recipe.optimizer_impl) continue;
    return set_optim({"optim", std::string(optim.name)}, recipe);
  }
  return bad_input("Trainer has no such optimizer of that form", "--optimizer",
                   "--optim names those it has");
}

Result<void> set_optim_args(const NamedValue& option, TrainRecipe& recipe) {
  std::string text = option.second;
  std::erase(text, ' ');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string mapping = text.substr(at, end - at);
    const std::size_t sign = mapping.find('=');
    if (sign == std::string::npos || mapping.find('=', sign + 1) != std::string::npos)
      return bad_input("\"" + mapping + "\" is no name=value", "--optim_args",
                       "names and values as in \"rank=64,update_proj_gap=100\"");
    const Result<void> done =
        set_optim_arg({mapping.substr(0, sign), mapping.substr(sign + 1)}, recipe);
    if (!done) return done;
    at = end + 1;
  }
  return {};
}

Result<void> settle_optim_args(TrainRecipe& recipe) {
  const OptimArgs& args = recipe.trainer.optim_args;
  const std::string& optim = recipe.trainer.optim;
  if (decomposes(recipe.trainer))
    recipe.not_modelled.push_back(
        "--optim " + optim +
        ": what cuSOLVER needs for the singular vectors, every update_proj_gap steps, is not "
        "known; the step itself is without it");
  if (optim == "adamw_torch_8bit" || optim == "adamw_torch_4bit")
    recipe.not_modelled.push_back(
        "--optim " + optim +
        ": what torch.compile takes while it tries kernels in the first step is not modelled; "
        "it may stay reserved");
  if (args.momentum && optim == "sgd") recipe.optimizer = OptimizerName::sgd_momentum;
  if (optim == "rmsprop" && (args.momentum || args.centered))
    return unsupported("RMSprop with momentum or centered is not modelled", "--optim_args",
                       "momentum=0,centered=false");
  if (optim == "stable_adamw" && args.kahan_sum)
    return unsupported("kahan_sum by hand is not modelled", "--optim_args", "leave it out");
  return {};
}

Result<void> set_optim_target_modules(const NamedValue& option, TrainRecipe& recipe) {
  LowRankRecipe& low_rank = recipe.trainer.low_rank;
  low_rank.target_modules.clear();
  low_rank.is_one_pattern = !option.second.starts_with('[');
  if (low_rank.is_one_pattern) {
    low_rank.target_modules.push_back(option.second);
  } else {
    JsonReader json(option.second);
    if (json.enter_array())
      while (json.item()) low_rank.target_modules.push_back(json.text());
    json.finish();
    if (json.failed()) return bad_input(json.problem(), "--" + option.first, "[\"attn\", \"mlp\"]");
  }
  for (const std::string& pattern : low_rank.target_modules)
    if (!full_match(pattern, "model.layers.0.self_attn.q_proj"))
      return unsupported("the pattern \"" + pattern + "\" is not understood", "--" + option.first,
                         "names of modules, or patterns of . * + ? [] () |");
  return {};
}

}  // namespace memtape
