// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/training_arguments.h"

#include <algorithm>
#include <array>

#include "base/json_reader.h"
#include "base/text.h"
#include "framework/torch/lora_config.h"
#include "framework/transformers/arguments/fsdp_config.h"
#include "framework/transformers/arguments/optim_arguments.h"
#include "framework/transformers/arguments/quantization_config.h"
#include "framework/transformers/arguments/trl_config.h"
#include "framework/transformers/arguments/trl_earlier_fields.h"
#include "framework/transformers/trl/earlier_releases.h"
#include "framework/transformers/trl/settle.h"
#include "model/config_fields.h"
#include "workload/train_options.h"

namespace memtape::transformers {
namespace {

using option::OnOff;
using option::Real;
using option::Said;
using option::Text;
using option::Whole;

template <Precision precision>
Result<void> set_mixed_precision(const Said& said, TrainRecipe& recipe) {
  if (said.on() && recipe.autocasts() && recipe.precision != precision)
    return bad_input("bf16 and fp16 exclude each other", "--" + std::string(said.name()));
  if (said.on())
    recipe.precision = precision;
  else if (recipe.precision == precision)
    recipe.precision = Precision::fp32;
  return {};
}

/// --precision bf16 holds the parameters in bf16, as --bf16, which is autocast, does not.
template <Precision precision>
bool agrees_with_precision(std::string_view value, std::span<const NamedValue> given) {
  const bool on = option::read_on_off("", value).value_or(false);
  return *last_value(given, "precision") == memtape::name(on ? precision : Precision::fp32);
}

void begin_checkpointing(TrainRecipe& recipe) {
  recipe.checkpointing =
      trainer_of(recipe).use_reentrant ? Checkpointing::full_reentrant : Checkpointing::full;
}

/// A ds_config.
Result<void> set_deepspeed(const Said& said, TrainRecipe& recipe) {
  if (said.text.empty()) return {};
  return deepspeed::read_ds_config(said.text, deepspeed::UnsaidPrecision::automatic)
      .map([&](deepspeed::DsOptions read) { trainer_of(recipe).deepspeed = std::move(read); });
}

Result<void> set_gradient_checkpointing(const Said& said, TrainRecipe& recipe) {
  if (!said.on())
    recipe.checkpointing = Checkpointing::none;
  else if (recipe.checkpointing == Checkpointing::none)
    begin_checkpointing(recipe);
  return {};
}

/// {"use_reentrant": ...}; transformers says false where the user says nothing.
Result<void> set_gradient_checkpointing_kwargs(const Said& said, TrainRecipe& recipe) {
  JsonReader json(said.text);
  if (json.enter_object())
    while (const auto key = json.key()) {
      if (*key == "use_reentrant")
        trainer_of(recipe).use_reentrant = json.boolean();
      else
        json.fail("\"" + *key + "\" is not modelled");
    }
  json.finish();
  if (json.failed())
    return bad_input(json.problem(), "--gradient_checkpointing_kwargs",
                     "{\"use_reentrant\": false}");
  if (recipe.checkpointing != Checkpointing::none) begin_checkpointing(recipe);
  return {};
}

/// find_executable_batch_size (accelerate 1.15, utils/memory.py) begins with the batch that is
/// asked for.
Result<void> set_auto_find_batch_size(const Said& said, TrainRecipe& recipe) {
  if (said.on())
    recipe.assumed.emplace_back(
        "the batch is taken to be --per_device_train_batch_size: where it does not fit, "
        "auto_find_batch_size goes on with nine tenths of it");
  return {};
}

Result<void> set_quantization(const Said& said, TrainRecipe& recipe) {
  Result<QuantizationRecipe> quantization = read_quantization_config(std::string(said.text));
  if (!quantization) return tl::unexpected(quantization.error());
  recipe.quantization = std::move(*quantization);
  return {};
}

/// liger_kernel_config (liger-kernel, apply_liger_kernel_to_*).
Result<void> set_liger_kernel_config(const Said& said, TrainRecipe& recipe) {
  using fields::put;
  constexpr auto kFields = std::to_array<ConfigField<LigerRecipe>>({
      {"rope", put<&LigerRecipe::rope>},
      {"rms_norm", put<&LigerRecipe::rms_norm>},
      {"swiglu", put<&LigerRecipe::gated>},
      {"geglu", put<&LigerRecipe::gated>},
      {"cross_entropy", put<&LigerRecipe::cross_entropy>},
      {"fused_linear_cross_entropy", put<&LigerRecipe::fused_linear_cross_entropy>},
      {"layer_norm"},
  });
  LigerRecipe& config = trainer_of(recipe).liger_kernel_config = {};
  return read_object(said.text, "--liger_kernel_config", kFields, config);
}

/// accelerate's GradientAccumulationPlugin.
constexpr auto kAccumulation = std::to_array<ConfigField<TrainerRecipe>>(
    {{"sync_each_batch", fields::put<&TrainerRecipe::sync_each_batch>},
     {"num_steps"},
     {"adjust_scheduler"},
     {"sync_with_dataloader"}});

Result<void> read_accumulation(const Config& json, std::string_view name, TrainerRecipe& trainer) {
  return read_fields(json.object(name), "--accelerator_config", kAccumulation, trainer);
}

/// AcceleratorConfig (trainer_pt_utils.py).
constexpr auto kAccelerator =
    std::to_array<ConfigField<TrainerRecipe>>({{"gradient_accumulation_kwargs", read_accumulation},
                                               {"split_batches"},
                                               {"dispatch_batches"},
                                               {"even_batches"},
                                               {"use_seedable_sampler"},
                                               {"non_blocking"}});

Result<void> set_accelerator_config(const Said& said, TrainRecipe& recipe) {
  return read_object(said.text, "--accelerator_config", kAccelerator, trainer_of(recipe));
}

/// FinetuningArguments.pref_loss of LLaMA-Factory.
Result<void> set_pref_loss(const Said& said, TrainRecipe& recipe) {
  const ProgramRecipe& program = recipe.program;
  if (!program.trains_preferences() || program.is_kto() || program.trains_value_head())
    return bad_input("LLaMA-Factory's", "--pref_loss", "it needs --trainer llama-factory-dpo");
  using Preference = ProgramRecipe::Preference;
  constexpr std::array kLosses{Preference::sigmoid, Preference::orpo, Preference::simpo};
  constexpr auto kPreferences = std::to_array<std::string_view>({"sigmoid", "orpo", "simpo"});
  const auto found = std::ranges::find(kPreferences, said.text);
  if (found == kPreferences.end())
    return unsupported("\"" + std::string(said.text) + "\" is not modelled", "--pref_loss",
                       suggestion(said.text, kPreferences));
  recipe.program.preference = kLosses[static_cast<std::size_t>(found - kPreferences.begin())];
  return {};
}

/// Scripts evaluate once when training is over.
Result<void> set_do_eval(const Said& said, TrainRecipe& recipe) {
  if (said.on()) recipe.evaluation.runs = true;
  return {};
}

Result<void> set_eval_strategy(const Said& said, TrainRecipe& recipe) {
  constexpr auto kRuns = std::to_array<std::string_view>({"steps", "epoch", "true"});
  recipe.evaluation.runs = std::ranges::find(kRuns, said.text) != kRuns.end();
  if (recipe.evaluation.runs || said.text == "no" || said.text == "false") return {};
  return option::unusable(said.name(), said.text, "no, steps or epoch");
}

/// A whole number of steps; a ratio is one of all steps, whose number is not known here.
Result<void> set_eval_steps(const Said& said, TrainRecipe& recipe) {
  if (said.real() >= 1.0) recipe.evaluation.every_steps = static_cast<std::int64_t>(said.real());
  return {};
}

Result<void> set_include_for_metrics(const Said& said, TrainRecipe& recipe) {
  recipe.evaluation.includes_inputs = said.text.find("inputs") != std::string::npos;
  return {};
}

template <auto member>
constexpr auto to_ddp = to_trainer<&TrainerRecipe::ddp, member>;
template <auto member>
constexpr auto to_evaluation = option::put<&TrainRecipe::evaluation, member>;
template <auto member>
constexpr auto to_kernels = to_trainer<&TrainerRecipe::lora_kernels, member>;

/// The plugin's rules "qkvo" and "mlp" (framework_plugin_fast_kernels.py).
Result<void> set_fused_lora(const Said& said, TrainRecipe& recipe) {
  FusedLoraRecipe& kernels = trainer_of(recipe).lora_kernels;
  kernels.qkv = kernels.o = kernels.mlp = kernels.of_fms_acceleration = said.on();
  return {};
}

constexpr std::string_view kAxolotl = "axolotl/utils/schemas/config.py";

/// INTEGRATION_TO_CALLBACK (integrations/integration_utils.py), by itself or in a list.
Result<void> check_report_to(const Said& said, TrainRecipe&) {
  constexpr std::array<std::string_view, 16> kTrackers{
      "none",  "all",      "azure_ml", "clearml", "codecarbon", "comet_ml",    "dagshub", "dvclive",
      "flyte", "kubeflow", "mlflow",   "neptune", "swanlab",    "tensorboard", "trackio", "wandb"};
  constexpr std::string_view kBetween = " ,[]\"'";
  for (std::string_view rest = said.text; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find_first_of(kBetween));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (!word.empty() && std::ranges::find(kTrackers, word) == kTrackers.end())
      return option::unusable(said.name(), word, suggestion(word, kTrackers));
  }
  return {};
}

constexpr auto kTrainerFields = std::to_array<Argument>({
    decides("--micro-batch-size", field("--per_device_train_batch_size", Whole{}, "8",
                                        option::put<&TrainRecipe::micro_batch_size>)),
    decides("--gradient-accumulation", field("--gradient_accumulation_steps", Whole{}, "1",
                                             put_named<&TrainRecipe::names_gradient_accumulation,
                                                       &TrainRecipe::gradient_accumulation>)),
    field("--auto_find_batch_size", OnOff{}, "false", set_auto_find_batch_size),
    decides("--precision",
            field("--bf16", OnOff{}, "false", set_mixed_precision<Precision::amp_bf16>),
            agrees_with_precision<Precision::amp_bf16>),
    decides("--precision",
            field("--fp16", OnOff{}, "false", set_mixed_precision<Precision::amp_fp16>),
            agrees_with_precision<Precision::amp_fp16>),
    decides("--max-grad-norm",
            field("--max_grad_norm", Real{}, "1.0", option::put<&TrainRecipe::max_grad_norm>)),
    decides("--gradient-checkpointing",
            field("--gradient_checkpointing", OnOff{}, "false", set_gradient_checkpointing)),
    field("--gradient_checkpointing_kwargs", Text{}, "None", set_gradient_checkpointing_kwargs),
    field("--torch_empty_cache_steps", Whole{}, {},
          to_trainer<&TrainerRecipe::torch_empty_cache_steps>),
    field("--label_smoothing_factor", kShare, "0",
          to_trainer<&TrainerRecipe::label_smoothing_factor>),
    field("--neftune_noise_alpha", Real{}, "None", to_trainer<&TrainerRecipe::neftune_noise_alpha>),
    by("peft/utils/other.py", field("--prepare_model_for_kbit_training", OnOff{}, "true",
                                    option::put<&TrainRecipe::prepare_for_kbit_training>)),
    field("--use_liger_kernel", OnOff{}, "false", option::put<&TrainRecipe::use_liger_kernel>),
    field("--liger_kernel_config", Text{}, "None", set_liger_kernel_config),
    by("llamafactory/hparams/finetuning_args.py", field("--pref_loss", Text{}, {}, set_pref_loss)),
    by(kAxolotl, field("--cut_cross_entropy", OnOff{}, {},
                       option::put<&TrainRecipe::program, &ProgramRecipe::cut_cross_entropy>)),
    by(kAxolotl, field("--lora_qkv_kernel", OnOff{}, {}, to_kernels<&FusedLoraRecipe::qkv>)),
    by(kAxolotl, field("--lora_o_kernel", OnOff{}, {}, to_kernels<&FusedLoraRecipe::o>)),
    by(kAxolotl, field("--lora_mlp_kernel", OnOff{}, {}, to_kernels<&FusedLoraRecipe::mlp>)),
    by("fms_acceleration_foak/framework_plugin_fast_kernels.py",
       field("--fused_lora", OnOff{}, {}, set_fused_lora)),
    by(kAxolotl, field("--quantize_moe_experts", OnOff{}, {},
                       to_trainer<&TrainerRecipe::quantize_moe_experts>)),
    by(kAxolotl,
       field("--unfrozen_parameters", Text{}, {}, to_trainer<&TrainerRecipe::unfrozen_parameters>)),
    field("--torch_compile", OnOff{}, "false", option::put<&TrainRecipe::torch_compile>),
    by("memtape",
       field("--scored_tokens", Whole{.least = 0}, {}, option::put<&TrainRecipe::scored_tokens>)),
    by("memtape", field("--keep_outputs", OnOff{}, "false",
                        option::put<&TrainRecipe::program, &ProgramRecipe::keeps_outputs>)),
    field("--average_tokens_across_devices", OnOff{}, "true",
          to_trainer<&TrainerRecipe::averages_tokens_across_devices>),
    field("--n_gpu", Whole{.most = 64}, "1",
          option::put<&TrainRecipe::layout, &LayoutRecipe::replicas>),
    field("--ddp_find_unused_parameters", OnOff{}, "None",
          to_ddp<&DdpRecipe::find_unused_parameters>),
    field("--ddp_bucket_cap_mb", Whole{}, "None", to_ddp<&DdpRecipe::bucket_cap_mb>),
    field("--ddp_broadcast_buffers", OnOff{}, "None", to_ddp<&DdpRecipe::broadcast_buffers>),
    field("--ddp_static_graph", OnOff{}, "false", to_ddp<&DdpRecipe::static_graph>),
    field("--fsdp", Text{}, "None", set_fsdp),
    field("--fsdp_config", Text{}, "None", set_fsdp_config),
    field("--deepspeed", Text{}, "None", set_deepspeed),

    field("--eval_strategy", Text{}, "no", set_eval_strategy),
    field("--eval_steps", Real{}, "None", set_eval_steps),
    field("--do_eval", OnOff{}, "false", set_do_eval),
    field("--eval_on_start", OnOff{}, "false", set_do_eval),
    field("--per_device_eval_batch_size", Whole{}, "8",
          to_evaluation<&EvaluationRecipe::batch_size>),
    field("--prediction_loss_only", OnOff{}, "false",
          to_evaluation<&EvaluationRecipe::prediction_loss_only>),
    field("--eval_accumulation_steps", Whole{}, {},
          to_evaluation<&EvaluationRecipe::accumulation_steps>),
    field("--eval_do_concat_batches", OnOff{}, "true",
          to_evaluation<&EvaluationRecipe::concatenates>),
    field("--batch_eval_metrics", OnOff{}, "false",
          to_evaluation<&EvaluationRecipe::batch_eval_metrics>),
    field("--include_for_metrics", Text{}, {}, set_include_for_metrics),
    by("memtape",
       field("--compute_metrics", OnOff{}, {}, to_evaluation<&EvaluationRecipe::computes_metrics>)),
    by("memtape", field("--eval_samples", Whole{}, {}, to_evaluation<&EvaluationRecipe::samples>)),

    field("--use_cache", OnOff{}, "false", to_trainer<&TrainerRecipe::use_cache>),
    field("--report_to", Text{}, "none", check_report_to),
    field("--accelerator_config", Text{}, {}, set_accelerator_config),
});

/// Common options that Trainer alone gives a meaning.
constexpr auto kOfTrainerAlone = std::to_array<Argument>({
    field("--peft", Text{}, {}, torch::set_peft),
    field("--quantization", Text{}, {}, set_quantization),
    field("--trainer", option::Choice{kTrainerNames}, {}, pass),  // read when the recipe starts
});

bool says_option(std::span<const NamedValue> options, std::string_view name) {
  return last_value(options, name) != nullptr;
}

/// The optim that memtape's own words for the optimizer mean.
Result<void> settle_optim(std::span<const NamedValue> options, TrainRecipe& recipe) {
  if (!says_option(options, "optimizer") && !says_option(options, "optimizer-impl")) {
    if (!says_option(options, "optim")) choose_optim(recipe);
    return {};
  }
  const auto impl =
      recipe.names_optimizer_impl ? std::optional(recipe.optimizer_impl) : std::nullopt;
  const std::string_view optim = optim_of(recipe.optimizer, impl);
  if (!optim.empty()) return set_optim(optim, recipe);
  return bad_input("Trainer has no such optimizer of that form", "--optimizer",
                   "--optim names those it has");
}

/// Each name once.
std::vector<Argument> all_arguments() {
  std::vector<Argument> all(kTrainerFields.begin(), kTrainerFields.end());
  all.insert(all.end(), optim_arguments().begin(), optim_arguments().end());
  const auto neutral = data::neutral_training_arguments();
  all.insert(all.end(), neutral.begin(), neutral.end());
  for (Argument& argument : all)
    if (argument.group.source.empty()) argument.group.source = kTrainingArguments;
  for (const TrlField& row : trl_fields())
    if (!find(all, row.argument.name())) {
      all.push_back(
          by(row.argument.group.source, field(row.argument.spellings, Text{}, {}, set_trl_field)));
      if (all.back().group.source.empty())
        all.back().group.source = (row.of & (kOfCpo - 1)) != 0 ? "trl/trainer/*_config.py"
                                                               : "trl/experimental/*/*_config.py";
    }
  for (const EarlierTrlField& row : earlier_trl_fields())
    if (!find(all, row.argument.name()))
      all.push_back(by("trl/trainer/*_config.py of earlier releases",
                       field(row.argument.spellings, Text{}, {}, set_trl_field)));
  return all;
}

}  // namespace

std::span<const Argument> training_arguments() {
  static const std::vector<Argument> all = all_arguments();
  return all;
}

bool is_training_argument(std::string_view name) {
  return find(training_arguments(), name) != nullptr;
}

const Argument* argument(std::string_view name) {
  const Argument* found = find(training_arguments(), name);
  return found ? found : find(kOfTrainerAlone, name);
}

void start_arguments(std::span<const NamedValue> options, TrainRecipe& recipe) {
  recipe.precision = Precision::fp32;
  recipe.micro_batch_size = 8;
  recipe.optimizer_impl = OptimizerImpl::fused;
  if (const std::string* loss = last_value(options, "loss"); loss && *loss == "liger") {
    recipe.use_liger_kernel = true;  // its loss alone, unless liger_kernel_config says more
    LigerRecipe& kernels = trainer_of(recipe).liger_kernel_config;
    kernels.rope = kernels.rms_norm = kernels.gated = false;
  }
  start_trainer(options, recipe);
}

Result<void> finish_arguments(std::span<const NamedValue> options, TrainRecipe& recipe) {
  trl::take_defaults_of_release(options, recipe);
  cut_sequences(recipe);
  if (const Result<void> settled = settle_optim(options, recipe); !settled) return settled;
  if (recipe.precision == Precision::bf16 || recipe.precision == Precision::fp16) {
    if (!recipe.weights) recipe.weights = recipe.parameter_dtype();  // without autocast
    recipe.precision = Precision::fp32;
  }
  recipe.optimizer_name = trainer_of(recipe).optim;
  for (const auto step : {finish_fsdp, settle_optim_args, settle_trl})
    if (const Result<void> settled = step(recipe); !settled) return settled;
  return {};
}

}  // namespace memtape::transformers
