// SPDX-License-Identifier: Apache-2.0
#include "workload/train_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "base/comma_list.h"
#include "base/text.h"
#include "base/typed_number.h"
#include "release/requirement_list.h"
#include "workload/framework.h"
#include "workload/lora_config.h"
#include "workload/optim_arguments.h"
#include "workload/quantization_config.h"
#include "workload/sft_arguments.h"
#include "workload/training_arguments.h"
#include "workload/trl_trainer.h"
#include "workload/typed_values.h"

namespace memtape {
namespace {

template <class E>
struct Choice {
  std::string_view name;
  E value;
};

constexpr auto kPrecisions = std::to_array<Choice<Precision>>({{"fp32", Precision::fp32},
                                                               {"bf16", Precision::bf16},
                                                               {"fp16", Precision::fp16},
                                                               {"amp-bf16", Precision::amp_bf16},
                                                               {"amp-fp16", Precision::amp_fp16}});
constexpr auto kOptimizers =
    std::to_array<Choice<OptimizerName>>({{"adamw", OptimizerName::adamw},
                                          {"adam", OptimizerName::adam},
                                          {"sgd", OptimizerName::sgd},
                                          {"sgd-momentum", OptimizerName::sgd_momentum},
                                          {"adagrad", OptimizerName::adagrad},
                                          {"rmsprop", OptimizerName::rmsprop},
                                          {"adamax", OptimizerName::adamax},
                                          {"nadam", OptimizerName::nadam},
                                          {"adafactor", OptimizerName::adafactor},
                                          {"adafactor-hf", OptimizerName::adafactor_hf}});
constexpr auto kImpls =
    std::to_array<Choice<OptimizerImpl>>({{"fused", OptimizerImpl::fused},
                                          {"foreach", OptimizerImpl::foreach},
                                          {"for-loop", OptimizerImpl::for_loop}});
constexpr auto kCheckpointings =
    std::to_array<Choice<Checkpointing>>({{"none", Checkpointing::none},
                                          {"full", Checkpointing::full},
                                          {"full-reentrant", Checkpointing::full_reentrant},
                                          {"selective", Checkpointing::selective},
                                          {"layer", Checkpointing::layer}});
constexpr auto kAttentions =
    std::to_array<Choice<AttentionChoice>>({{"eager", AttentionChoice::eager},
                                            {"sdpa", AttentionChoice::sdpa},
                                            {"flash", AttentionChoice::flash}});
constexpr auto kTaskChoices = std::to_array<Choice<Task>>(
    {{"causal-lm", Task::causal_lm},
     {"masked-lm", Task::masked_lm},
     {"seq2seq-lm", Task::seq2seq_lm},
     {"image-text-to-text", Task::image_text_to_text},
     {"image-classification", Task::image_classification},
     {"zero-shot-image-classification", Task::zero_shot_image_classification},
     {"speech-seq2seq", Task::speech_seq2seq},
     {"sequence-classification", Task::sequence_classification},
     {"token-classification", Task::token_classification},
     {"question-answering", Task::question_answering},
     {"multiple-choice", Task::multiple_choice}});
constexpr auto kInitDevices = std::to_array<Choice<InitDevice>>(
    {{"cuda", InitDevice::cuda}, {"cpu", InitDevice::cpu}, {"meta", InitDevice::meta}});
constexpr auto kWeights = std::to_array<Choice<DType>>(
    {{"fp32", DType::float32}, {"bf16", DType::bfloat16}, {"fp16", DType::float16}});

tl::unexpected<Error> wrong(std::string_view option, std::string_view found, std::string hint) {
  return bad_input("unusable value \"" + std::string(found) + "\"", "--" + std::string(option),
                   std::move(hint));
}

template <class E, std::size_t N>
Result<E> choose(const NamedValue& option, const std::array<Choice<E>, N>& choices) {
  std::vector<std::string_view> names;
  for (const Choice<E>& choice : choices) {
    if (choice.name == option.second) return choice.value;
    names.push_back(choice.name);
  }
  return wrong(option.first, option.second, suggestion(option.second, names));
}

template <class E, std::size_t N>
std::string_view name_of(E value, const std::array<Choice<E>, N>& choices) {
  for (const Choice<E>& choice : choices)
    if (choice.value == value) return choice.name;
  return "?";
}

constexpr std::int64_t kMostOf = std::int64_t{1} << 31;

/// Tokens are typed as 8k, too.
Result<std::int64_t> positive_or_tokens(const NamedValue& option) {
  std::int64_t n = 0;
  if (option.first.ends_with("-length"))
    if (const auto tokens = typed_tokens(option.second); tokens && *tokens > 0 && *tokens < kMostOf)
      return *tokens;
  const char* end = option.second.data() + option.second.size();
  const auto [at, error] = std::from_chars(option.second.data(), end, n);
  const bool is_whole =
      at == end && option.second.find_first_not_of("0123456789") == std::string::npos;
  if (error == std::errc::result_out_of_range ? is_whole : is_whole && n >= kMostOf)
    return wrong(option.first, option.second, "at most " + std::to_string(kMostOf - 1));
  if (error != std::errc() || at != end || n < 1)
    return wrong(option.first, option.second, "a whole number of 1 or more");
  return n;
}

Result<double> real(const NamedValue& option, double least, double most, const char* hint) {
  char* end = nullptr;
  const double x = std::strtod(option.second.c_str(), &end);
  if (option.second.empty() || *end != '\0' || !std::isfinite(x) || x < least || x > most)
    return wrong(option.first, option.second, hint);
  return x;
}

LoraRecipe& lora(TrainRecipe& recipe) {
  if (!recipe.lora) recipe.lora.emplace();
  return *recipe.lora;
}

Result<void> set_max_grad_norm(const NamedValue& option, TrainRecipe& recipe) {
  recipe.max_grad_norm.reset();
  if (option.second == "none") return {};
  return put(real(option, 0.0, 1e30, "a positive number, or none"), recipe.max_grad_norm);
}

/// X, or worst.
Result<void> set_imbalance(const NamedValue& option, TrainRecipe& recipe) {
  recipe.expert_load = {.worst = option.second == "worst"};
  if (recipe.expert_load.worst) return {};
  return put(real(option, 1.0, 1e9, "1 or more: the fullest expert over the mean; or worst"),
             recipe.expert_load.imbalance);
}

/// A whole number from 0 to `most`.
Result<std::int64_t> up_to(const NamedValue& option, std::int64_t most) {
  std::int64_t n = 0;
  const char* end = option.second.data() + option.second.size();
  const auto [at, error] = std::from_chars(option.second.data(), end, n);
  if (error != std::errc() || at != end || n < 0 || n > most)
    return wrong(option.first, option.second, "a whole number from 0 to " + std::to_string(most));
  return n;
}

/// Eight bits are Megatron's alone, whose products have them beside parameters of bf16.
Result<void> set_precision(const NamedValue& option, TrainRecipe& recipe) {
  recipe.eight_bits.reset();
  if (option.second != "fp8" && option.second != "mxfp8")
    return put(choose(option, kPrecisions), recipe.precision);
  if (!recipe.framework->takes.eight_bit_products)
    return unsupported(option.second + " is modelled for Megatron alone", "--precision",
                       "--framework megatron-core, or bf16");
  recipe.precision = Precision::bf16;
  recipe.eight_bits = option.second == "fp8" ? EightBits::fp8 : EightBits::mxfp8;
  return {};
}

Result<void> set_compile(const NamedValue& option, TrainRecipe& recipe) {
  return put(boolean(option), recipe.compile);
}

/// What has not been laid beside a compiled step.
Result<void> check_compiled(const TrainRecipe& recipe) {
  if (!recipe.compile || recipe.framework->takes.compile) return {};
  return unsupported("compiled steps are modelled for the plain loop", "--compile",
                     "--framework torch");
}

Result<void> set_rank(const NamedValue& option, TrainRecipe& recipe) {
  recipe.layout.rank.reset();
  if (option.second == "all") return {};
  return put(up_to(option, kMostOf - 1), recipe.layout.rank);
}

Result<TrainRecipe> starting_recipe(std::span<const NamedValue> options, Frameworks frameworks,
                                    const NamedReleases& releases) {
  TrainRecipe recipe;
  recipe.framework = frameworks.front();
  recipe.release = releases.release;
  recipe.named_releases = releases.named;
  recipe.releases_from = releases.from;
  for (const NamedValue& option : options) {
    if (option.first != "framework") continue;
    const Result<const Framework*> found = find_framework(option.second, frameworks);
    if (!found) return tl::unexpected(found.error());
    recipe.framework = *found;
  }
  if (recipe.framework->start) recipe.framework->start(options, recipe);
  return recipe;
}

Result<void> set_checkpointing(const NamedValue& option, TrainRecipe& recipe) {
  const Result<Checkpointing> chosen = choose(option, kCheckpointings);
  if (!chosen) return tl::unexpected(chosen.error());
  if (*chosen == Checkpointing::selective && !recipe.framework->takes.selective_checkpointing)
    return wrong(option.first, option.second,
                 "none or full; selective is Megatron-LM's and torchtitan's");
  if (*chosen == Checkpointing::layer && !recipe.framework->takes.layer_checkpointing)
    return wrong(option.first, option.second, "none or full; layer is for --framework torch-pp");
  recipe.checkpointing = *chosen;
  return {};
}

Result<void> set_optimizer(const NamedValue& option, TrainRecipe& recipe) {
  std::string of_trainer = option.second;
  std::ranges::replace(of_trainer, '-', '_');
  if (is_other_optim(of_trainer))
    return unsupported("\"" + option.second + "\" is not modelled by --framework " +
                           std::string(recipe.framework->name),
                       "--optimizer", "--framework transformers has it");
  return put(choose(option, kOptimizers), recipe.optimizer);
}

/// --with: releases by the names of their packages.
Result<void> set_releases(const NamedValue& option, TrainRecipe& recipe) {
  if (option.second == "none") return {};
  auto named = parse_requirement_list(option.second, "--" + option.first, recipe.release);
  if (!named) return tl::unexpected(named.error());
  recipe.release = named->release;
  recipe.releases_from = "--" + option.first;
  for (const Package package : named->named)
    if (std::ranges::find(recipe.named_releases, package) == recipe.named_releases.end())
      recipe.named_releases.push_back(package);
  for (const std::string& package : named->ignored)
    recipe.assumed.push_back("the release of " + package + " changes nothing that is known here");
  return {};
}

/// --transformers-version and its kin: one package's release.
Result<void> set_release_of(Package package, const NamedValue& option, TrainRecipe& recipe) {
  if (!Version::parse(option.second))
    return wrong(option.first, option.second, "a version such as 4.48 or 5.17");
  return set_releases({option.first, std::string(facts_of(package).name) + "==" + option.second},
                      recipe);
}

/// litgpt's own --quantize; "bnb." may be left out.
Result<void> set_quantize(const NamedValue& option, TrainRecipe& recipe) {
  if (option.second == "none") return {};
  constexpr std::array<std::string_view, 4> kModes{"bnb.nf4", "bnb.nf4-dq", "bnb.fp4",
                                                   "bnb.fp4-dq"};
  const std::string mode =
      option.second.starts_with("bnb.") ? option.second : "bnb." + option.second;
  if (std::find(kModes.begin(), kModes.end(), mode) == kModes.end())
    return wrong(option.first, option.second, suggestion(option.second, kModes));
  recipe.quantization.emplace();
  recipe.quantization->double_quant = mode.ends_with("-dq");
  return {};
}

Result<void> set_litgpt_version(const NamedValue& option, TrainRecipe& recipe) {
  if (!recipe.framework->takes.litgpt_version)
    return bad_input("which litgpt", "--" + option.first, "it needs --framework litgpt");
  return set_release_of(Package::litgpt, option, recipe);
}

/// Read when the recipe starts (set_defaults_of_trainer).
Result<void> check_trainer(const NamedValue& option, TrainRecipe& recipe) {
  const std::span<const std::string_view> known = trainer_names();
  if (!recipe.framework->takes.training_arguments)
    return bad_input("which Trainer", "--trainer", "it needs --framework transformers");
  if (std::find(known.begin(), known.end(), option.second) == known.end())
    return wrong(option.first, option.second, suggestion(option.second, known));
  return {};
}

/// Negative: the first layers.
Result<void> set_trained_layers(const NamedValue& option, TrainRecipe& recipe) {
  const bool first = option.second.starts_with('-');
  const auto count = positive_or_tokens({option.first, option.second.substr(first ? 1 : 0)});
  if (!count) return tl::unexpected(count.error());
  constexpr std::int64_t kMost = 10'000;
  const auto layers = static_cast<std::int16_t>(std::min(*count, kMost));
  recipe.program.trained_layers = first ? static_cast<std::int16_t>(-layers) : layers;
  return {};
}

using TrainSetter = Result<void> (*)(const NamedValue&, TrainRecipe&);
struct Rule {
  std::string_view option;
  TrainSetter set;
};

constexpr auto kRules = std::to_array<Rule>({
    {"task",
     [](const NamedValue& o, TrainRecipe& r) {
       r.names_task = true;
       return put(choose(o, kTaskChoices), r.task);
     }},
    {"precision", set_precision},
    {"weights",
     [](const NamedValue& o, TrainRecipe& r) { return put(choose(o, kWeights), r.weights); }},
    {"init-device",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(choose(o, kInitDevices), r.init_device);
     }},
    {"attention",
     [](const NamedValue& o, TrainRecipe& r) { return put(choose(o, kAttentions), r.attention); }},
    {"micro-batch-size",
     [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.micro_batch_size); }},
    {"sequence-length",
     [](const NamedValue& o, TrainRecipe& r) {
       r.names_sequence_length = true;
       return put(positive_or_tokens(o), r.sequence_length);
     }},
    {"target-length",
     [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.target_length); }},
    {"num-labels",
     [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.num_labels); }},
    {"gradient-accumulation",
     [](const NamedValue& o, TrainRecipe& r) {
       r.names_gradient_accumulation = true;
       return put(positive_or_tokens(o), r.gradient_accumulation);
     }},
    {"global-batch-size",
     [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.global_batch_size); }},
    {"gradient-checkpointing", set_checkpointing},
    {"optimizer", set_optimizer},
    {"optimizer-impl",
     [](const NamedValue& o, TrainRecipe& r) {
       r.names_optimizer_impl = true;
       return put(choose(o, kImpls), r.optimizer_impl);
     }},
    {"max-grad-norm", set_max_grad_norm},
    {"imbalance", set_imbalance},
    {"attention-mask",
     [](const NamedValue& o, TrainRecipe& r) -> Result<void> {
       constexpr std::array<std::string_view, 2> kMasks{"default", "none"};
       if (std::find(kMasks.begin(), kMasks.end(), o.second) == kMasks.end())
         return wrong(o.first, o.second, suggestion(o.second, kMasks));
       r.trainer.batch_has_mask = o.second == "default";
       return {};
     }},
    {"trainer", check_trainer},
    {"with", set_releases},
    {"transformers-version",
     [](const NamedValue& o, TrainRecipe& r) { return set_release_of(Package::transformers, o, r); }},
    {"litgpt-version", set_litgpt_version},
    {"quantize", set_quantize},
    {"lora-rank",
     [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), lora(r).rank); }},
    {"lora-targets",
     [](const NamedValue& o, TrainRecipe& r) -> Result<void> {
       lora(r).targets = split_at_commas(o.second);
       if (lora(r).targets.empty())
         return wrong(o.first, o.second, "module names with commas between, or all-linear");
       return {};
     }},
    {"lora-dropout",
     [](const NamedValue& o, TrainRecipe& r) {
       return put(real(o, 0.0, 1.0, "a number from 0 to 1"), lora(r).dropout);
     }},
    {"gpus", [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.layout.gpus); }},
    {"dp", [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.layout.dp); }},
    {"tp", [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.layout.tp); }},
    {"sp", [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.layout.sp); }},
    {"pp", [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.layout.pp); }},
    {"vpp", [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.layout.vpp); }},
    {"cp", [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.layout.cp); }},
    {"ep", [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.layout.ep); }},
    {"etp", [](const NamedValue& o, TrainRecipe& r) { return put(positive_or_tokens(o), r.layout.etp); }},
    {"zero", [](const NamedValue& o, TrainRecipe& r) { return put(up_to(o, 3), r.layout.zero); }},
    {"rank", set_rank},
    {"schedule",
     [](const NamedValue& o, TrainRecipe& r) -> Result<void> {
       r.layout.schedule = o.second;
       return {};
     }},
    {"offload",
     [](const NamedValue& o, TrainRecipe& r) -> Result<void> {
       constexpr std::array<std::string_view, 3> kWhat{"none", "optimizer", "all"};
       if (std::find(kWhat.begin(), kWhat.end(), o.second) == kWhat.end())
         return wrong(o.first, o.second, suggestion(o.second, kWhat));
       r.layout.offload = o.second;
       return {};
     }},
    {"strategy",
     [](const NamedValue& o, TrainRecipe& r) -> Result<void> {
       r.layout.strategy = o.second;
       return {};
     }},
    {"compile", set_compile},
    {"freeze",
     [](const NamedValue& o, TrainRecipe& r) -> Result<void> {
       r.freeze.push_back(o.second);
       return {};
     }},
    {"train-last-layers", set_trained_layers},
    {"upcast-trained",
     [](const NamedValue& o, TrainRecipe& r) { return put(boolean(o), r.program.upcasts_trained); }},
});

}  // namespace

namespace {

Result<void> apply_option(const NamedValue& option, TrainRecipe& recipe) {
  if (is_training_argument(option.first)) {
    if (recipe.framework->takes.training_arguments) return set_training_argument(option, recipe);
    return bad_input("a TrainingArguments name", "--" + option.first,
                     "it needs --framework transformers");
  }
  if (option.first == "peft") return set_lora_config(option, recipe);
  if (option.first == "quantization") return set_quantization_config(option, recipe);
  for (const Rule& rule : kRules)
    if (rule.option == option.first) return rule.set(option, recipe);
  return {};
}

NamedValue in_common_words(const NamedValue& option, const Framework& framework) {
  return framework.in_common_words ? framework.in_common_words(option) : option;
}

/// How many GPUs there are, and that the rank asked for is one of them.
Result<void> settle_gpus(std::span<const NamedValue> options, LayoutRecipe& layout,
                         const Framework& framework) {
  const bool is_said = std::ranges::find(options, "gpus", &NamedValue::first) != options.end();
  const std::int64_t otherwise = framework.experts_follow_tensor_ranks ? layout.tp.value_or(1) : 1;
  if (!is_said) layout.gpus = layout.fewest_gpus(layout.etp.value_or(otherwise));
  if (layout.gpus > kMostGpus && !is_said)
    return bad_input("more than " + std::to_string(kMostGpus) + " GPUs",
                     "--dp x --tp x --pp x --cp", "smaller sizes");
  if (layout.gpus > kMostGpus)
    return wrong("gpus", std::to_string(layout.gpus), "at most " + std::to_string(kMostGpus));
  if (layout.rank && *layout.rank >= layout.gpus)
    return wrong("rank", std::to_string(*layout.rank),
                 "a rank from 0 to " + std::to_string(layout.gpus - 1) + ", or all");
  return {};
}

}  // namespace

Result<TrainRecipe> train_recipe(std::span<const NamedValue> options, Frameworks frameworks,
                                 const NamedReleases& releases) {
  Result<TrainRecipe> start = starting_recipe(options, frameworks, releases);
  if (!start) return start;
  TrainRecipe recipe = std::move(*start);
  const Framework& framework = *recipe.framework;
  for (const NamedValue& option : options)
    if (const Result<void> done = apply_option(in_common_words(option, framework), recipe); !done)
      return tl::unexpected(done.error());
  apply_max_length(options, recipe);
  if (const Result<void> done = settle_gpus(options, recipe.layout, framework); !done)
    return tl::unexpected(done.error());
  if (framework.finish)
    if (const Result<void> done = framework.finish(options, recipe); !done)
      return tl::unexpected(done.error());
  if (const Result<void> settled = settle_optim_args(recipe); !settled)
    return tl::unexpected(settled.error());
  if (const Result<void> settled = settle_trl(options, recipe); !settled)
    return tl::unexpected(settled.error());
  // torch.optim.Adafactor alone prefers its loop: its foreach takes a copy of the parameters.
  if (recipe.optimizer == OptimizerName::adafactor && !recipe.names_optimizer_impl)
    recipe.optimizer_impl = OptimizerImpl::for_loop;
  constexpr std::int64_t kMostTokens = std::int64_t{1} << 31;
  if (recipe.sequence_length > kMostTokens / recipe.micro_batch_size)
    return bad_input("more than 2^31 tokens in a micro-batch",
                     "--micro-batch-size x --sequence-length", "a batch that a GPU could hold");
  if (recipe.lora && recipe.lora->targets.empty() && recipe.lora->target_pattern.empty() &&
      !framework.takes.lora_without_targets)
    return bad_input("no modules named", "--lora-targets",
                     "module names with commas between, or all-linear");
  if (const Result<void> fine = check_compiled(recipe); !fine) return tl::unexpected(fine.error());
  if (const Result<void> fine = check_framework_options(options, recipe); !fine)
    return tl::unexpected(fine.error());
  return recipe;
}

std::string_view name(Precision precision) { return name_of(precision, kPrecisions); }
std::string_view name(OptimizerName optimizer) { return name_of(optimizer, kOptimizers); }
std::string_view name(OptimizerImpl impl) { return name_of(impl, kImpls); }
std::string_view name(Checkpointing checkpointing) {
  return name_of(checkpointing, kCheckpointings);
}
std::string_view name(AttentionChoice attention) { return name_of(attention, kAttentions); }
std::string_view name(InitDevice device) { return name_of(device, kInitDevices); }
std::string_view name(Task task) { return name_of(task, kTaskChoices); }

}  // namespace memtape
