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
#include "option/json_fields.h"
#include "workload/train_options.h"

namespace memtape::transformers {
namespace {

using option::OnOff;
using option::put;
using option::Real;
using option::Said;
using option::Text;
using option::Whole;

/// No block of a training step depends on them.
constexpr std::string_view kChangeNothing =
    "--output_dir --num_train_epochs --max_steps --learning_rate --lr_scheduler_type "
    "--lr_scheduler_kwargs --warmup_steps --weight_decay --adam_beta1 --adam_beta2 --adam_epsilon "
    "--bf16_full_eval --fp16_full_eval --tf32 --logging_strategy --logging_steps "
    "--logging_first_step --log_on_each_node --logging_nan_inf_filter --log_level "
    "--log_level_replica --disable_tqdm --report_to --run_name --project --trackio_space_id "
    "--trackio_bucket_id --trackio_static_space_id --save_only_model --save_strategy --save_steps "
    "--save_on_each_node --save_total_limit --enable_jit_checkpoint --push_to_hub --hub_token "
    "--hub_private_repo --hub_model_id --hub_strategy --hub_always_push --hub_revision "
    "--load_best_model_at_end --metric_for_best_model --greater_is_better --ignore_data_skip "
    "--restore_callback_states_from_checkpoint --full_determinism --seed --data_seed "
    "--dataloader_drop_last --dataloader_num_workers --dataloader_pin_memory "
    "--dataloader_persistent_workers --dataloader_prefetch_factor "
    "--dataloader_multiprocessing_context --dataloader_in_order --remove_unused_columns "
    "--train_sampling_strategy --length_column_name --ddp_backend --ddp_timeout "
    "--skip_memory_metrics --do_train --do_predict --resume_from_checkpoint --local_rank "
    "--eval_delay --eval_use_gather_object --include_num_input_tokens_seen";

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
      recipe.trainer.use_reentrant ? Checkpointing::full_reentrant : Checkpointing::full;
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
        recipe.trainer.use_reentrant = json.boolean();
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

Result<void> set_accumulation(const Said& said, TrainRecipe& recipe) {
  recipe.names_gradient_accumulation = true;
  recipe.gradient_accumulation = said.whole();
  return {};
}

Result<void> set_peft(const Said& said, TrainRecipe& recipe) {
  Result<LoraRecipe> lora = torch::read_lora_config(std::string(said.text));
  if (!lora) return tl::unexpected(lora.error());
  recipe.lora = std::move(*lora);
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
  constexpr auto kFields = std::to_array<option::JsonField<LigerRecipe>>({
      {"rope", option::put_json<&LigerRecipe::rope>},
      {"rms_norm", option::put_json<&LigerRecipe::rms_norm>},
      {"swiglu", option::put_json<&LigerRecipe::gated>},
      {"geglu", option::put_json<&LigerRecipe::gated>},
      {"cross_entropy", option::put_json<&LigerRecipe::cross_entropy>},
      {"fused_linear_cross_entropy", option::put_json<&LigerRecipe::fused_linear_cross_entropy>},
  });
  recipe.trainer.liger_kernel_config = {};
  return option::read_json_fields(
      std::string(said.text),
      {"--liger_kernel_config", "Liger", R"({"rope": true, "swiglu": true})", "layer_norm"},
      kFields, recipe.trainer.liger_kernel_config);
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
  if (said.on()) recipe.trainer.evaluation.runs = true;
  return {};
}

Result<void> set_eval_strategy(const Said& said, TrainRecipe& recipe) {
  constexpr auto kRuns = std::to_array<std::string_view>({"steps", "epoch", "true"});
  recipe.trainer.evaluation.runs = std::ranges::find(kRuns, said.text) != kRuns.end();
  if (recipe.trainer.evaluation.runs || said.text == "no" || said.text == "false") return {};
  return option::unusable(said.name(), said.text, "no, steps or epoch");
}

/// A whole number of steps; a ratio is one of all steps, whose number is not known here.
Result<void> set_eval_steps(const Said& said, TrainRecipe& recipe) {
  if (said.real() >= 1.0)
    recipe.trainer.evaluation.every_steps = static_cast<std::int64_t>(said.real());
  return {};
}

Result<void> set_include_for_metrics(const Said& said, TrainRecipe& recipe) {
  recipe.trainer.evaluation.includes_inputs = said.text.find("inputs") != std::string::npos;
  return {};
}

constexpr auto kEvaluation = &TrainerRecipe::evaluation;

constexpr auto kTrainerFields = std::to_array<Argument>({
    decides("--micro-batch-size", field("--per_device_train_batch_size", Whole{},
                                        put<&TrainRecipe::micro_batch_size>, "8")),
    decides("--gradient-accumulation",
            field("--gradient_accumulation_steps", Whole{}, set_accumulation, "1")),
    field("--auto_find_batch_size", OnOff{}, set_auto_find_batch_size, "false"),
    decides("--precision",
            field("--bf16", OnOff{}, set_mixed_precision<Precision::amp_bf16>, "false"),
            agrees_with_precision<Precision::amp_bf16>),
    decides("--precision",
            field("--fp16", OnOff{}, set_mixed_precision<Precision::amp_fp16>, "false"),
            agrees_with_precision<Precision::amp_fp16>),
    decides("--max-grad-norm",
            field("--max_grad_norm", Real{}, put<&TrainRecipe::max_grad_norm>, "1.0")),
    decides("--gradient-checkpointing",
            field("--gradient_checkpointing", OnOff{}, set_gradient_checkpointing, "false")),
    field("--gradient_checkpointing_kwargs", Text{}, set_gradient_checkpointing_kwargs),
    field("--torch_empty_cache_steps", Whole{},
          put<kTrainer, &TrainerRecipe::torch_empty_cache_steps>),
    field("--label_smoothing_factor", Real{}, put<kTrainer, &TrainerRecipe::label_smoothing_factor>,
          "0"),
    field("--neftune_noise_alpha", Real{}, put<kTrainer, &TrainerRecipe::neftune_noise_alpha>),
    field("--prepare_model_for_kbit_training", OnOff{},
          put<&TrainRecipe::prepare_for_kbit_training>, "true"),
    field("--use_liger_kernel", OnOff{}, put<kTrainer, &TrainerRecipe::use_liger_kernel>, "false"),
    field("--liger_kernel_config", Text{}, set_liger_kernel_config),
    field("--pref_loss", Text{}, set_pref_loss),
    field("--cut_cross_entropy", OnOff{},
          put<&TrainRecipe::program, &ProgramRecipe::cut_cross_entropy>),
    field("--lora_qkv_kernel", OnOff{},
          put<kTrainer, &TrainerRecipe::lora_kernels, &FusedLoraRecipe::qkv>),
    field("--lora_o_kernel", OnOff{},
          put<kTrainer, &TrainerRecipe::lora_kernels, &FusedLoraRecipe::o>),
    field("--lora_mlp_kernel", OnOff{},
          put<kTrainer, &TrainerRecipe::lora_kernels, &FusedLoraRecipe::mlp>),
    field("--torch_compile", OnOff{}, put<kTrainer, &TrainerRecipe::torch_compile>, "false"),
    field("--scored_tokens", Whole{.least = 0}, put<kTrainer, &TrainerRecipe::scored_tokens>),
    field("--average_tokens_across_devices", OnOff{},
          put<kTrainer, &TrainerRecipe::averages_tokens_across_devices>, "true"),
    field("--ddp_find_unused_parameters", OnOff{},
          put<kTrainer, &TrainerRecipe::ddp, &DdpRecipe::find_unused_parameters>),
    field("--ddp_bucket_cap_mb", Whole{},
          put<kTrainer, &TrainerRecipe::ddp, &DdpRecipe::bucket_cap_mb>),
    field("--ddp_broadcast_buffers", OnOff{},
          put<kTrainer, &TrainerRecipe::ddp, &DdpRecipe::broadcast_buffers>),
    field("--ddp_static_graph", OnOff{},
          put<kTrainer, &TrainerRecipe::ddp, &DdpRecipe::static_graph>, "false"),
    field("--fsdp", Text{}, set_fsdp),
    field("--fsdp_config", Text{}, set_fsdp_config),
    field("--deepspeed", Text{}, put<kTrainer, &TrainerRecipe::deepspeed>),  // a ds_config's JSON

    field("--eval_strategy", Text{}, set_eval_strategy, "no"),
    field("--eval_steps", Real{}, set_eval_steps),
    field("--do_eval", OnOff{}, set_do_eval, "false"),
    field("--eval_on_start", OnOff{}, set_do_eval, "false"),
    field("--per_device_eval_batch_size", Whole{},
          put<kTrainer, kEvaluation, &EvaluationRecipe::batch_size>, "8"),
    field("--prediction_loss_only", OnOff{},
          put<kTrainer, kEvaluation, &EvaluationRecipe::prediction_loss_only>, "false"),
    field("--eval_accumulation_steps", Whole{},
          put<kTrainer, kEvaluation, &EvaluationRecipe::accumulation_steps>),
    field("--eval_do_concat_batches", OnOff{},
          put<kTrainer, kEvaluation, &EvaluationRecipe::concatenates>, "true"),
    field("--batch_eval_metrics", OnOff{},
          put<kTrainer, kEvaluation, &EvaluationRecipe::batch_eval_metrics>, "false"),
    field("--include_for_metrics", Text{}, set_include_for_metrics),
    field("--compute_metrics", OnOff{},
          put<kTrainer, kEvaluation, &EvaluationRecipe::computes_metrics>),
    field("--eval_samples", Whole{}, put<kTrainer, kEvaluation, &EvaluationRecipe::samples>),

    only("--torch_compile_backend", ""),
    only("--torch_compile_mode", ""),
    only("--use_cache", "false"),
    only("--use_cpu", "false"),
    only("--accelerator_config", ""),
    only("--parallelism_config", ""),
    only("--label_names", ""),
    only("--debug", ""),
});

/// Common options that Trainer alone gives a meaning.
constexpr auto kOfTrainerAlone = std::to_array<Argument>({
    field("--peft", Text{}, set_peft), field("--quantization", Text{}, set_quantization),
    field("--trainer", option::Choice{kTrainerNames}, pass),  // read when the recipe starts
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

/// Each name once, as options that may come without a value.
std::vector<Argument> all_arguments() {
  std::vector<Argument> all(kTrainerFields.begin(), kTrainerFields.end());
  all.insert(all.end(), optim_arguments().begin(), optim_arguments().end());
  option::each_word(kChangeNothing, [&](std::string_view spelling) {
    all.push_back(field(spelling, Text{}, nullptr));
  });
  for (const std::string_view spelling : trl_spellings())
    all.push_back(field(spelling, Text{}, nullptr));
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

std::vector<std::string_view> training_argument_names() {
  std::vector<std::string_view> names;
  for (const Argument& argument : training_arguments()) names.push_back(argument.name());
  return names;
}

Result<void> set_training_argument(const NamedValue& given, TrainRecipe& recipe) {
  if (is_trl_argument(given.first)) return set_trl_argument(given, recipe);
  const Argument* argument = find(training_arguments(), given.first);
  return argument ? set(*argument, given.second, recipe) : Result<void>();
}

bool has_argument(std::string_view name) {
  return is_training_argument(name) || find(kOfTrainerAlone, name) != nullptr;
}

void start_arguments(std::span<const NamedValue> options, TrainRecipe& recipe) {
  recipe.precision = Precision::fp32;
  recipe.micro_batch_size = 8;
  recipe.optimizer_impl = OptimizerImpl::fused;
  start_trainer(options, recipe);
}

Result<void> set_argument(const NamedValue& given, TrainRecipe& recipe) {
  if (const Argument* configuration = find(kOfTrainerAlone, given.first))
    return set(*configuration, given.second, recipe);
  return set_training_argument(given, recipe);
}

Result<void> finish_arguments(std::span<const NamedValue> options, TrainRecipe& recipe) {
  cut_sequences(options, recipe);
  if (const Result<void> settled = settle_optim(options, recipe); !settled) return settled;
  if (recipe.precision == Precision::bf16 || recipe.precision == Precision::fp16) {
    if (!recipe.weights) recipe.weights = recipe.parameter_dtype();  // without autocast
    recipe.precision = Precision::fp32;
  }
  if (const Result<void> settled = finish_fsdp(recipe); !settled) return settled;
  if (const Result<void> settled = settle_optim_args(recipe); !settled) return settled;
  return settle_trl(options, recipe);
}

}  // namespace memtape::transformers
