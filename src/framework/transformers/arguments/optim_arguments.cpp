// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/optim_arguments.h"

#include <algorithm>
#include <array>

#include "base/json_reader.h"
#include "base/pattern.h"
#include "base/text.h"
#include "release/trainer_changes.h"
#include "workload/train_options.h"

namespace memtape::transformers {
namespace {

using option::OnOff;
using option::Real;
using option::Said;
using option::Text;
using option::Whole;

std::span<const std::string_view> optim_names(bool all) {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> each;
    for (const Optim& optim : data::optims()) each.push_back(optim.name);
    return each;
  }();
  const auto unmodelled = std::ranges::count(data::optims(), Optim::Of::not_modelled, &Optim::of);
  return std::span(names).first(names.size() - (all ? 0 : static_cast<std::size_t>(unmodelled)));
}

Result<void> set_optim_argument(const Said& said, TrainRecipe& recipe) {
  return set_optim(said.text, recipe);
}

Result<void> set_kahan_sum(const Said& said, TrainRecipe& recipe) {
  trainer_of(recipe).optim_args.kahan_sum = said.text != "None";
  return {};
}

constexpr auto kSides =
    std::to_array<std::string_view>({"std", "reverse_std", "left", "right", "full"});
constexpr auto kProjections = std::to_array<std::string_view>({"random", "svd"});
constexpr auto kScales = std::to_array<std::string_view>({"channel", "tensor"});

template <auto member>
constexpr auto to_low_rank = to_trainer<&TrainerRecipe::low_rank, member>;
template <auto member>
constexpr auto to_optim_args = to_trainer<&TrainerRecipe::optim_args, member>;

/// What optim_args may name: all that some optimizer of trainer_optimizer.py reads.
constexpr auto kOptimArgs = std::to_array<Argument>({
    field("--rank", Whole{}, {}, to_low_rank<&LowRankRecipe::rank>),
    field("--update_proj_gap", Whole{}, {}, to_low_rank<&LowRankRecipe::update_proj_gap>),
    field("--proj_type", option::Choice{kSides}, {}, to_low_rank<&LowRankRecipe::proj_type>),
    field("--proj", option::Choice{kProjections}, {}, to_low_rank<&LowRankRecipe::svd>),
    field("--scale_type", option::Choice{kScales}, {}, to_low_rank<&LowRankRecipe::per_tensor>),
    field("--momentum", Real{}, {},
          put_unless<0, &TrainerRecipe::optim_args, &OptimArgs::momentum>),
    field("--centered", OnOff{}, {}, to_optim_args<&OptimArgs::centered>),
    field("--kahan_sum", Text{}, {}, set_kahan_sum),
});
constexpr std::string_view kOptimNumbers =
    "--scale --beta1 --beta2 --beta3 --alpha --eps --t_alpha --t_beta3 --dampening --weight_decay "
    "--nesterov --lr_decay --initial_accumulator_value --alpha_init --lamb --gamma "
    "--grokking_signal_decay_rate --gradient_clipping --weight_lr_power --r --max_lr --decouple_lr "
    "--bf16_stochastic_round";

Result<void> set_optim_arg(const std::string& name, const std::string& value, TrainRecipe& recipe) {
  if (option::lists(kOptimNumbers, name)) return {};
  if (const Argument* known = find(kOptimArgs, name)) {
    Result<void> done = tell(*known, value, recipe);
    if (!done) done.error().where = "--optim_args: " + name;
    return done;
  }
  std::vector<std::string_view> names;
  for (const Argument& known : kOptimArgs) names.push_back(known.name());
  option::each_word(kOptimNumbers, [&](std::string_view word) { names.push_back(word.substr(2)); });
  return bad_input("no optimizer of Trainer reads \"" + name + "\"", "--optim_args",
                   suggestion(name, names));
}

/// "rank=64, update_proj_gap=100"
Result<void> set_optim_args(const Said& said, TrainRecipe& recipe) {
  std::string text(said.text);
  std::erase(text, ' ');
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string mapping = text.substr(at, end - at);
    const std::size_t sign = mapping.find('=');
    if (sign == std::string::npos || mapping.find('=', sign + 1) != std::string::npos)
      return bad_input("\"" + mapping + "\" is no name=value", "--optim_args",
                       "names and values as in \"rank=64,update_proj_gap=100\"");
    const Result<void> done =
        set_optim_arg(mapping.substr(0, sign), mapping.substr(sign + 1), recipe);
    if (!done) return done;
    at = end + 1;
  }
  return {};
}

Result<void> set_optim_target_modules(const Said& said, TrainRecipe& recipe) {
  LowRankRecipe& low_rank = trainer_of(recipe).low_rank;
  const std::string where = "--" + std::string(said.name());
  low_rank.target_modules.clear();
  low_rank.is_one_pattern = !said.text.starts_with('[');
  if (low_rank.is_one_pattern) {
    low_rank.target_modules.emplace_back(said.text);
  } else {
    JsonReader json(said.text);
    if (json.enter_array())
      while (json.item()) low_rank.target_modules.push_back(json.text());
    json.finish();
    if (json.failed()) return bad_input(json.problem(), where, "[\"attn\", \"mlp\"]");
  }
  for (const std::string& pattern : low_rank.target_modules)
    if (!full_match(pattern, "model.layers.0.self_attn.q_proj"))
      return unsupported("the pattern \"" + pattern + "\" is not understood", where,
                         "names of modules, or patterns of . * + ? [] () |");
  return {};
}

/// Whether memtape's own words for the optimizer, as far as they are said, mean that one.
bool agrees_with_optimizer(std::string_view optim, std::span<const NamedValue> given) {
  const std::string* name = last_value(given, "optimizer");
  const std::string* impl = last_value(given, "optimizer-impl");
  if (const auto other = name ? other_optim(*name) : std::nullopt) return *other == optim;
  TrainRecipe said;
  for (const std::string_view own : {"optimizer", "optimizer-impl"})
    if (const std::string* text = last_value(given, own))
      if (const auto done = tell(*find(train_options(), own), *text, said); !done)
        return true;  // what cannot be read is refused by itself
  const std::string_view meant =
      optim_of(said.optimizer, impl ? std::optional(said.optimizer_impl) : std::nullopt);
  return meant.empty() || meant == optim;
}

constexpr auto kEarlierOptims =
    std::to_array<EarlierDefault>({{changes::kTrainerMayFuseAdamW, "adamw_torch"},
                                   {changes::kTrainerTrustsFusedAdamW, "adamw_torch"}});

constexpr auto kOptimArguments = std::to_array<Argument>({
    since(kEarlierOptims, decides("--optimizer --optimizer-impl",
                                  field("--optim", Text{}, "adamw_torch_fused", set_optim_argument),
                                  agrees_with_optimizer)),
    field("--optim_args", Text{}, "None", set_optim_args),
    field("--optim_target_modules", Text{}, "None", set_optim_target_modules),
});

}  // namespace

std::span<const Argument> optim_arguments() { return kOptimArguments; }

std::optional<std::string_view> other_optim(std::string_view name) {
  if (name == "lion") name = "lion_32bit";
  const std::span<const Optim> all = data::optims();
  const auto at = std::ranges::find_if(
      all, [name](const Optim& optim) { return option::is_same_name(optim.name, name); });
  const bool is_other =
      at != all.end() && (at->of == Optim::Of::others || at->of == Optim::Of::bitsandbytes);
  return is_other ? std::optional(at->name) : std::nullopt;
}

std::string_view optim_of(OptimizerName optimizer, std::optional<OptimizerImpl> impl) {
  if (optimizer == OptimizerName::adafactor) optimizer = OptimizerName::adafactor_hf;
  for (const Optim& optim : data::optims())
    if (optim.of == Optim::Of::torch && optim.optimizer == optimizer &&
        optim.form == impl.value_or(optim.form))
      return optim.name;
  return "";
}

Result<void> set_optim(std::string_view name, TrainRecipe& recipe) {
  const std::span<const Optim> all = data::optims();
  const auto at = std::ranges::find(all, name, &Optim::name);
  if (at == all.end()) return option::unusable("optim", name, suggestion(name, optim_names(true)));
  if (at->of == Optim::Of::not_modelled)
    return unsupported("the optimizer \"" + std::string(name) + "\" is not modelled", "--optim",
                       suggestion("", optim_names(false)));
  if (at->of == Optim::Of::torch) {
    recipe.optimizer = at->optimizer;
    recipe.optimizer_impl = at->form;
  }
  recipe.bitsandbytes_optim.reset();
  if (at->of == Optim::Of::bitsandbytes) recipe.bitsandbytes_optim = at->bits;
  trainer_of(recipe).optim = name;
  return {};
}

void choose_optim(TrainRecipe& recipe) {
  const Argument& optim = kOptimArguments.front();
  const bool is_default =
      recipe.optimizer == OptimizerName::adamw && trainer_of(recipe).optim == optim.default_text;
  if (is_default) (void)set_optim(optim.default_in(recipe.release), recipe);
}

Result<void> settle_optim_args(TrainRecipe& recipe) {
  const OptimArgs& args = trainer_of(recipe).optim_args;
  const std::string& optim = trainer_of(recipe).optim;
  if (decomposes(trainer_of(recipe)))
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

}  // namespace memtape::transformers
