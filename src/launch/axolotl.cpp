// SPDX-License-Identifier: Apache-2.0
// axolotl (0.19): `axolotl train cfg.yml`, `accelerate launch -m axolotl.cli.train cfg.yml`, with
// --name value words that override the file. Models are loaded in the dtype that bf16 or fp16 says
// (utils/config: torch_dtype); quantized ones lose what prepare_model_for_kbit_training casts to
// float32 again (loaders/model.py: _configure_embedding_dtypes).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "launch/python_arguments.h"
#include "launch/trainer_program.h"

namespace memtape::launch {
namespace {

constexpr auto kModelled = std::to_array<std::string_view>({"base_model",
                                                            "adapter",
                                                            "load_in_8bit",
                                                            "load_in_4bit",
                                                            "lora_r",
                                                            "lora_dropout",
                                                            "lora_target_modules",
                                                            "lora_target_linear",
                                                            "lora_modules_to_save",
                                                            "lora_rank_pattern",
                                                            "peft_layers_to_transform",
                                                            "peft_use_dora",
                                                            "sequence_len",
                                                            "micro_batch_size",
                                                            "gradient_accumulation_steps",
                                                            "optimizer",
                                                            "bf16",
                                                            "bfloat16",
                                                            "fp16",
                                                            "float16",
                                                            "float32",
                                                            "gradient_checkpointing",
                                                            "gradient_checkpointing_kwargs",
                                                            "max_grad_norm",
                                                            "flash_attention",
                                                            "sdp_attention",
                                                            "eager_attention",
                                                            "attn_implementation",
                                                            "neftune_noise_alpha",
                                                            "torch_empty_cache_steps",
                                                            "sample_packing",
                                                            "pad_to_sequence_len",
                                                            "rl",
                                                            "deepspeed",
                                                            "fsdp",
                                                            "fsdp_config",
                                                            "plugins",
                                                            "liger_rope",
                                                            "liger_rms_norm",
                                                            "liger_glu_activation",
                                                            "liger_cross_entropy",
                                                            "liger_fused_linear_cross_entropy",
                                                            "val_set_size",
                                                            "eval_steps",
                                                            "eval_strategy",
                                                            "evals_per_epoch"});
constexpr auto kNotModelled = std::to_array<std::string_view>({"lora_target_parameters",
                                                               "lora_model_dir",
                                                               "peft",
                                                               "peft_layers_pattern",
                                                               "peft_layer_replication",
                                                               "peft_trainable_token_indices",
                                                               "peft_autocast_adapter_dtype",
                                                               "lora_on_cpu",
                                                               "relora",
                                                               "lora_mlp_kernel",
                                                               "lora_qkv_kernel",
                                                               "lora_o_kernel",
                                                               "lora_embedding_kernel",
                                                               "optim_target_modules",
                                                               "optim_args",
                                                               "reward_model",
                                                               "process_reward_model",
                                                               "qat",
                                                               "quantization",
                                                               "fp8",
                                                               "activation_offloading",
                                                               "layer_offloading",
                                                               "selective_checkpointing",
                                                               "unfrozen_parameters",
                                                               "freeze_mm_modules",
                                                               "xformers_attention",
                                                               "flex_attention",
                                                               "sage_attention",
                                                               "flash_attn_cross_entropy",
                                                               "flash_attn_fuse_mlp",
                                                               "batch_flattening",
                                                               "curriculum_sampling",
                                                               "multipack_real_batches",
                                                               "experts_implementation",
                                                               "chunked_cross_entropy",
                                                               "cut_cross_entropy",
                                                               "tiled_mlp",
                                                               "llama4_linearized_experts",
                                                               "sequence_parallel_degree",
                                                               "context_parallel_size",
                                                               "tensor_parallel_size",
                                                               "dp_shard_size",
                                                               "dp_replicate_size",
                                                               "torch_compile",
                                                               "fp32_norms",
                                                               "quantize_moe_experts",
                                                               "resize_token_embeddings_to_32x",
                                                               "embeddings_skip_upcast",
                                                               "auto_find_batch_size",
                                                               "batch_size",
                                                               "use_pose",
                                                               "device_map",
                                                               "max_memory",
                                                               "gpu_memory_limit",
                                                               "reinit_weights",
                                                               "overrides_of_model_config",
                                                               "bnb_config_kwargs",
                                                               "liger_layer_norm",
                                                               "liger_swiglu",
                                                               "use_kernels",
                                                               "lisa_n_layers",
                                                               "generate_samples",
                                                               "do_bench_eval",
                                                               "do_causal_lm_eval",
                                                               "torchao_optimizer",
                                                               "gptq",
                                                               "trl",
                                                               "vllm",
                                                               "pretraining_dataset",
                                                               "scaling_softmax",
                                                               "use_eaft",
                                                               "deepcompile",
                                                               "ple_cpu_offload"});
constexpr auto kNeutral = std::to_array<std::string_view>({"strict",
                                                           "resume_from_checkpoint",
                                                           "auto_resume_from_checkpoints",
                                                           "mean_resizing_embeddings",
                                                           "base_model_config",
                                                           "cls_model_config",
                                                           "tokenizer_config",
                                                           "tokenizer_use_fast",
                                                           "tokenizer_legacy",
                                                           "tokenizer_type",
                                                           "tokenizer_use_mistral_common",
                                                           "processor_type",
                                                           "trust_remote_code",
                                                           "model_type",
                                                           "revision_of_model",
                                                           "type_of_model",
                                                           "output_dir",
                                                           "hub_model_id",
                                                           "hub_strategy",
                                                           "hub_revision",
                                                           "save_safetensors",
                                                           "lora_alpha",
                                                           "lora_alpha_pattern",
                                                           "lora_fan_in_fan_out",
                                                           "peft_use_rslora",
                                                           "peft_init_lora_weights",
                                                           "loraplus_lr_ratio",
                                                           "loraplus_lr_embedding",
                                                           "qlora_sharded_model_loading",
                                                           "eval_batch_size",
                                                           "train_on_inputs",
                                                           "group_by_length",
                                                           "learning_rate",
                                                           "weight_decay",
                                                           "lr_scheduler",
                                                           "lr_scheduler_kwargs",
                                                           "cosine_min_lr_ratio",
                                                           "cosine_constant_lr_ratio",
                                                           "adam_epsilon",
                                                           "adam_epsilon2",
                                                           "adam_beta1",
                                                           "adam_beta2",
                                                           "adam_beta3",
                                                           "num_epochs",
                                                           "max_steps",
                                                           "warmup_steps",
                                                           "warmup_ratio",
                                                           "datasets",
                                                           "test_datasets",
                                                           "shuffle_merged_datasets",
                                                           "shuffle_before_merging_datasets",
                                                           "dataset_prepared_path",
                                                           "dataset_shard_num",
                                                           "dataset_shard_idx",
                                                           "skip_prepare_dataset",
                                                           "dataset_processes",
                                                           "dataset_num_proc",
                                                           "dataset_exact_deduplication",
                                                           "dataset_keep_in_memory",
                                                           "dataloader_pin_memory",
                                                           "dataloader_num_workers",
                                                           "dataloader_prefetch_factor",
                                                           "dataloader_drop_last",
                                                           "remove_unused_columns",
                                                           "push_dataset_to_hub",
                                                           "hf_use_auth_token",
                                                           "world_size",
                                                           "local_rank",
                                                           "ddp",
                                                           "seed",
                                                           "ddp_timeout",
                                                           "ddp_bucket_cap_mb",
                                                           "ddp_broadcast_buffers",
                                                           "ddp_find_unused_parameters",
                                                           "eval_causal_lm_metrics",
                                                           "metric_for_best_model",
                                                           "greater_is_better",
                                                           "loss_watchdog_threshold",
                                                           "loss_watchdog_patience",
                                                           "gc_steps",
                                                           "gc_collect_steps",
                                                           "tf32",
                                                           "excess_length_strategy",
                                                           "eval_sequence_len",
                                                           "min_sample_len",
                                                           "sample_packing_group_size",
                                                           "sample_packing_bin_size",
                                                           "sample_packing_sequentially",
                                                           "eval_sample_packing",
                                                           "pad_to_multiple_of",
                                                           "streaming",
                                                           "special_tokens",
                                                           "tokens",
                                                           "added_tokens_overrides",
                                                           "save_steps",
                                                           "saves_per_epoch",
                                                           "save_strategy",
                                                           "save_total_limit",
                                                           "save_first_step",
                                                           "logging_steps",
                                                           "early_stopping_patience",
                                                           "load_best_model_at_end",
                                                           "save_only_model",
                                                           "use_tensorboard",
                                                           "profiler_steps",
                                                           "include_tokens_per_second",
                                                           "include_tkps",
                                                           "low_cpu_mem_usage",
                                                           "chat_template",
                                                           "chat_template_jinja",
                                                           "chat_template_kwargs",
                                                           "eot_tokens",
                                                           "default_system_message",
                                                           "fix_untrained_tokens",
                                                           "is_falcon_derived_model",
                                                           "is_llama_derived_model",
                                                           "is_mistral_derived_model",
                                                           "is_qwen_derived_model",
                                                           "s2_attention",
                                                           "use_wandb",
                                                           "wandb_project",
                                                           "wandb_entity",
                                                           "wandb_watch",
                                                           "wandb_name",
                                                           "wandb_run_id",
                                                           "wandb_mode",
                                                           "wandb_log_model",
                                                           "use_mlflow",
                                                           "mlflow_tracking_uri",
                                                           "mlflow_experiment_name",
                                                           "mlflow_run_name",
                                                           "use_comet",
                                                           "comet_project_name",
                                                           "use_trackio",
                                                           "trackio_project_name",
                                                           "trackio_run_name",
                                                           "debug",
                                                           "evaluation_strategy",
                                                           "eval_table_size",
                                                           "eval_max_new_tokens",
                                                           "xformers",
                                                           "auto_resume",
                                                           "merge_lora",
                                                           "merge_method",
                                                           "experimental_skip_move_to_device"});

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names(kModelled.begin(), kModelled.end());
  names.insert(names.end(), kNotModelled.begin(), kNotModelled.end());
  names.insert(names.end(), kNeutral.begin(), kNeutral.end());
  return names;
}

Result<Settings> read_arguments(const LaunchCommand& command) {
  const std::vector<std::string>& words = command.arguments;
  if (words.empty() || words.front().starts_with('-'))
    return bad_input("no configuration is named", "axolotl train", "axolotl train cfg.yml");
  const Result<std::string> text = command.files->read(words.front());
  if (!text) return tl::unexpected(text.error());
  Result<Settings> settings = read_settings(*text, words.front());
  if (!settings) return settings;
  const std::vector<std::string_view> names = all_names();
  const Result<Settings> typed = read_python_arguments(
      std::span(words).subspan(1), {.name = "axolotl train", .names = names, .on_by_default = {}});
  if (!typed) return typed;
  for (const Setting& setting : typed->all()) settings->set(setting);
  return settings;
}

Result<void> refuse_unmodelled(const Settings& settings) {
  for (const char* name : {"rl", "fsdp", "fsdp_config"})
    if (settings.says(name))
      return unsupported(fmt::format("{} is not modelled under Trainer", name),
                         settings.find(name)->where, "leave it out");
  return {};
}

struct Dtypes {
  bool bf16 = false, fp16 = false;
  std::string weights, torch_name;
};

/// utils/config/__init__.py: torch_dtype; bf16: auto is true on what memtape knows as GPUs.
Dtypes dtypes_of(Settings& settings) {
  const std::string bf16 = settings.text("bf16").value_or("auto");
  const bool full = bf16 == "full";
  Dtypes dtypes;
  dtypes.bf16 = !full && (bf16 == "auto" ? !settings.on("fp16") : settings.on("bf16"));
  dtypes.fp16 = !dtypes.bf16 && !full && settings.on("fp16");
  if (dtypes.bf16 || full || settings.on("bfloat16"))
    dtypes.weights = "bf16", dtypes.torch_name = "bfloat16";
  else if (dtypes.fp16 || settings.on("float16") || settings.on("load_in_8bit"))
    dtypes.weights = "fp16", dtypes.torch_name = "float16";
  else
    dtypes.weights = "fp32", dtypes.torch_name = "float32";
  return dtypes;
}

void add_adapter(Settings& settings, const Dtypes& dtypes, Translation& translation) {
  constexpr auto kAdapters = std::to_array<std::string_view>({"lora", "qlora"});
  const std::optional<std::string> adapter = settings.choice("adapter", kAdapters);
  if (!adapter) return;
  std::vector<std::string> targets = settings.words("lora_target_modules");
  if (settings.on("lora_target_linear")) targets = {"all-linear"};
  const Setting* const ranks = settings.find("lora_rank_pattern");
  add_lora({.rank = settings.whole("lora_r").value_or(8),
            .dropout = settings.number("lora_dropout").value_or(0.0),
            .targets = std::move(targets),
            .modules_to_save = settings.words("lora_modules_to_save"),
            .rank_pattern = ranks ? to_json(ranks->value) : std::string(),
            .layers_to_transform = settings.words("peft_layers_to_transform"),
            .use_dora = settings.on("peft_use_dora")},
           translation);
  if (settings.on("load_in_4bit"))
    add_quantization({.double_quant = true, .compute_dtype = dtypes.torch_name}, translation);
  else if (settings.on("load_in_8bit"))
    add_quantization({.bits = 8}, translation);
  else
    return;
  translation.options.emplace_back("prepare_model_for_kbit_training", "false");
}

void add_attention_choice(Settings& settings, Translation& translation) {
  if (settings.find("attn_implementation"))
    return add_attention(settings, "attn_implementation", translation);
  if (settings.on("flash_attention")) translation.options.emplace_back("attention", "flash");
  if (settings.on("eager_attention")) translation.options.emplace_back("attention", "eager");
}

/// LigerPlugin replaces what its switches name.
void add_liger(Settings& settings, Translation& translation) {
  const std::vector<std::string> plugins = settings.words("plugins");
  const bool has_liger = std::ranges::any_of(
      plugins, [](const std::string& name) { return name.find("Liger") != std::string::npos; });
  for (const std::string& plugin : plugins)
    if (plugin.find("Liger") == std::string::npos)
      translation.warnings.push_back(fmt::format("{}: the plugin {} is not modelled",
                                                 settings.find("plugins")->where, plugin));
  if (!has_liger) return;
  translation.options.emplace_back("use_liger_kernel", "true");
  translation.options.emplace_back(
      "liger_kernel_config",
      fmt::format("{{\"rope\": {}, \"rms_norm\": {}, \"swiglu\": {}, \"cross_entropy\": {}, "
                  "\"fused_linear_cross_entropy\": {}}}",
                  settings.on("liger_rope"), settings.on("liger_rms_norm"),
                  settings.on("liger_glu_activation"), settings.on("liger_cross_entropy"),
                  settings.on("liger_fused_linear_cross_entropy")));
}

/// axolotl's word and the field of TrainingArguments it becomes.
void add_renamed(Settings& settings, Settings& arguments) {
  constexpr auto kRenamed = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"micro_batch_size", "per_device_train_batch_size"},
       {"gradient_accumulation_steps", "gradient_accumulation_steps"},
       {"optimizer", "optim"},
       {"gradient_checkpointing", "gradient_checkpointing"},
       {"gradient_checkpointing_kwargs", "gradient_checkpointing_kwargs"},
       {"max_grad_norm", "max_grad_norm"},
       {"neftune_noise_alpha", "neftune_noise_alpha"},
       {"deepspeed", "deepspeed"},
       {"torch_empty_cache_steps", "torch_empty_cache_steps"}});
  for (const auto& [word, field] : kRenamed)
    if (const Setting* setting = settings.find(word)) {
      Setting renamed = *setting;
      renamed.name = field;
      arguments.set(std::move(renamed));
    }
}

Result<void> add_settings(Settings& settings, Translation& translation) {
  const Dtypes dtypes = dtypes_of(settings);
  Settings arguments;
  add_renamed(settings, arguments);
  if (const auto done = add_training_arguments(arguments, translation); !done) return done;
  add_default(translation, "per_device_train_batch_size", "1");
  if (dtypes.bf16) translation.options.emplace_back("bf16", "true");
  if (dtypes.fp16) translation.options.emplace_back("fp16", "true");
  translation.options.emplace_back("weights", dtypes.weights);
  add_adapter(settings, dtypes, translation);
  add_attention_choice(settings, translation);
  add_liger(settings, translation);
  translation.options.emplace_back("sequence-length",
                                   fmt::format("{}", settings.whole("sequence_len").value_or(512)));
  if (!settings.find("adapter") && dtypes.weights != "fp32" && !settings.on("flash_attention"))
    translation.warnings.emplace_back(
        "axolotl holds embeddings, head and norms in float32 when all is trained without flash "
        "attention; here they are in the dtype of the rest");
  if (settings.on("sample_packing"))
    translation.warnings.emplace_back(
        "packed samples are taken as micro_batch_size full sequences, each attended to whole");
  else if (!settings.on("pad_to_sequence_len"))
    translation.warnings.emplace_back(
        "sequences are padded to the longest of their batch; all are taken to be sequence_len "
        "long");
  return {};
}

}  // namespace

Result<Translation> translate_axolotl(const LaunchCommand& command) {
  Result<Settings> settings = read_arguments(command);
  if (!settings) return tl::unexpected(settings.error());
  Result<Translation> translation = begin_trainer(command);
  if (!translation) return translation;
  for (std::string& line : settings->check_names({kModelled, kNotModelled, kNeutral}))
    translation->warnings.push_back(std::move(line));
  if (settings->failure()) return tl::unexpected(*settings->failure());
  if (const auto fine = refuse_unmodelled(*settings); !fine) return tl::unexpected(fine.error());
  const std::optional<std::string> model = settings->text("base_model");
  if (!model) return bad_input("no model is named", command.arguments.front(), "base_model: MODEL");
  translation->model = *model;
  if (const auto done = add_settings(*settings, *translation); !done)
    return tl::unexpected(done.error());
  if (settings->failure()) return tl::unexpected(*settings->failure());
  return translation;
}

}  // namespace memtape::launch
