// SPDX-License-Identifier: Apache-2.0
// axolotl (0.19): `axolotl train cfg.yml`, `accelerate launch -m axolotl.cli.train cfg.yml`, with
// --name value words that override the file. Models are loaded in the dtype that bf16 or fp16 says
// (utils/config: torch_dtype); quantized ones lose what prepare_model_for_kbit_training casts to
// float32 again (loaders/model.py: _configure_embedding_dtypes).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json_object.h"
#include "launch/python_arguments.h"
#include "launch/setting_names.h"
#include "launch/setting_rows.h"
#include "launch/trainer_program.h"

namespace memtape::launch {
namespace {

Result<Settings> read_axolotl_arguments(const LaunchCommand& command) {
  const std::vector<std::string>& words = command.arguments;
  if (words.empty() || words.front().starts_with('-'))
    return bad_input("no configuration is named", "axolotl train", "axolotl train cfg.yml");
  const Result<std::string> text = command.files->read(words.front());
  if (!text) return tl::unexpected(text.error());
  Result<Settings> settings = read_settings(*text, words.front());
  if (!settings) return settings;
  const std::vector<std::string_view> names = data::axolotl_names().all();
  const Result<Settings> typed = read_python_arguments(
      std::span(words).subspan(1), {.name = "axolotl train", .names = names, .on_by_default = {}});
  if (!typed) return typed;
  for (const GivenSetting& setting : typed->all()) settings->set(setting);
  return settings;
}

/// What `rl` says: trl's trainers, under axolotl's names (core/builders/rl.py). GDPO is GRPO that
/// adds its rewards up in another way.
struct Reinforcement {
  std::string_view rl;
  TrainerConfig trainer;
};
constexpr auto kReinforcements = std::to_array<Reinforcement>({{"dpo", &transformers::kDpo},
                                                               {"ipo", &transformers::kDpo},
                                                               {"kto", &transformers::kKto},
                                                               {"orpo", &transformers::kOrpo},
                                                               {"simpo", &transformers::kCpo},
                                                               {"grpo", &transformers::kGrpo},
                                                               {"gdpo", &transformers::kGrpo}});

Result<TrainerConfig> trainer_of(const Settings& settings) {
  if (!settings.says("rl")) return nullptr;
  const GivenSetting& rl = *settings.find("rl");
  for (const Reinforcement& known : kReinforcements)
    if (known.rl == rl.value.text) return known.trainer;
  return unsupported(fmt::format("rl {} is not modelled", option_text(rl.value)), rl.where,
                     "dpo, ipo, kto, orpo, simpo, grpo or gdpo");
}

/// FSDPConfig (utils/schemas/fsdp.py), which Trainer gets; its other fields concern the host.
constexpr auto kShardingFields = std::to_array<std::string_view>(
    {"activation_checkpointing", "offload_params", "sync_module_states",
     "cpu_ram_efficient_loading", "use_orig_params", "auto_wrap_policy",
     "transformer_layer_cls_to_wrap", "min_num_params", "reshard_after_forward"});
constexpr auto kShardingOfTheHost = std::to_array<std::string_view>(
    {"state_dict_type", "final_state_dict_type", "cpu_offload_pin_memory"});

bool is_sharded(const Settings& settings) {
  return settings.says("fsdp") || settings.says("fsdp_config");
}

/// fsdp_version, or the one within fsdp_config, else 1 (check_fsdp_version_in_fsdp_config).
std::string sharding_version(const Settings& settings) {
  if (const GivenSetting* version = settings.find("fsdp_version"))
    return option_text(version->value);
  const GivenSetting* config = settings.find("fsdp_config");
  for (const char* name : {"version", "fsdp_version"})
    if (const YamlNode* version = config ? config->value.find(name) : nullptr)
      return option_text(*version);
  return "1";
}

YamlNode text_node(std::string text) {
  return {.kind = YamlNode::Kind::scalar, .key = {}, .text = std::move(text), .children = {}};
}

/// Fields may begin with "fsdp_"; pydantic drops those that FSDPConfig does not have.
void add_sharding(const Settings& settings, Settings& arguments, Translation& translation) {
  const bool said = settings.says("fsdp"), configured = settings.says("fsdp_config");
  if (!is_sharded(settings)) return;
  const GivenSetting& told = *settings.find(said ? "fsdp" : "fsdp_config");
  GivenSetting fsdp{.name = "fsdp", .value = text_node("true"), .where = told.where};
  if (said && told.value.kind == YamlNode::Kind::sequence) {
    std::vector<std::string> words;
    for (const YamlNode& word : told.value.children) words.push_back(option_text(word));
    fsdp.value.text = fmt::format("{}", fmt::join(words, " "));
  }
  arguments.set(std::move(fsdp));
  JsonObject config;
  config.add("version", sharding_version(settings));
  if (configured)
    for (const YamlNode& member : settings.find("fsdp_config")->value.children) {
      const std::string name = member.key.starts_with("fsdp_") ? member.key.substr(5) : member.key;
      if (std::ranges::find(kShardingFields, name) != kShardingFields.end())
        config.add(name, option_text(member));
      else if (name != "version" &&
               std::ranges::find(kShardingOfTheHost, name) == kShardingOfTheHost.end())
        translation.remarks.warnings.push_back(
            fmt::format("{}: {} does nothing: axolotl does not pass it on",
                        settings.find("fsdp_config")->where, member.key));
    }
  arguments.set({.name = "fsdp_config",
                 .value = text_node(config.text()),
                 .where = settings.find(configured ? "fsdp_config" : "fsdp")->where});
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
  std::string pattern;
  const GivenSetting* const named = settings.find("lora_target_modules");
  if (named && named->value.kind == YamlNode::Kind::scalar) pattern = std::move(targets.front());
  if (settings.on("lora_target_linear")) targets = {"all-linear"}, pattern.clear();
  const GivenSetting* const ranks = settings.find("lora_rank_pattern");
  add_lora({.rank = settings.whole("lora_r").value_or(8),
            .alpha = settings.number("lora_alpha"),
            .use_rslora = settings.on("peft_use_rslora"),
            .dropout = settings.number("lora_dropout").value_or(0.0),
            .targets = std::move(targets),
            .modules_to_save = settings.words("lora_modules_to_save"),
            .target_pattern = std::move(pattern),
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
  translation.add("prepare_model_for_kbit_training", "false");
}

void add_attention_choice(Settings& settings, Translation& translation) {
  if (settings.find("attn_implementation"))
    return add_attention(settings, "attn_implementation", translation);
  if (settings.on("flash_attention")) translation.add("attention", "flash");
  if (settings.on("eager_attention")) translation.add("attention", "eager");
}

/// Plugins that report, or measure afterwards.
bool is_neutral(std::string_view plugin) {
  return plugin.find("SwanLab") != std::string_view::npos ||
         plugin.find("LMEval") != std::string_view::npos;
}

bool has_plugin(Settings& settings, std::string_view part) {
  return std::ranges::any_of(settings.words("plugins"), [&](const std::string& name) {
    return name.find(part) != std::string::npos;
  });
}

/// CutCrossEntropyArgs: on where the plugin is there and nobody says otherwise.
bool cuts_cross_entropy(Settings& settings) {
  return has_plugin(settings, "CutCrossEntropy") && settings.on("cut_cross_entropy", true);
}

/// LigerPlugin replaces what its switches name, CutCrossEntropyPlugin the loss of a causal model.
void add_plugins(Settings& settings, TrainerConfig trainer, Translation& translation) {
  for (const std::string& plugin : settings.words("plugins"))
    if (plugin.find("Liger") == std::string::npos &&
        plugin.find("CutCrossEntropy") == std::string::npos && !is_neutral(plugin))
      translation.remarks.not_modelled.push_back(fmt::format(
          "{}: the plugin {} is not modelled", settings.find("plugins")->where, plugin));
  if (!trainer && cuts_cross_entropy(settings)) translation.add("cut_cross_entropy", "true");
  if (!has_plugin(settings, "Liger")) return;
  translation.add("use_liger_kernel", "true");
  constexpr auto kKernels =
      std::to_array<SettingRow>({{"liger_rope", "rope", RowKind::truth, "false"},
                                 {"liger_rms_norm", "rms_norm", RowKind::truth, "false"},
                                 {"liger_glu_activation", "swiglu", RowKind::truth, "false"},
                                 {"liger_cross_entropy", "cross_entropy", RowKind::truth, "false"},
                                 {"liger_fused_linear_cross_entropy", "fused_linear_cross_entropy",
                                  RowKind::truth, "false"}});
  JsonObject kernels;
  add_members(kKernels, settings, kernels);
  translation.add("liger_kernel_config", kernels.text());
}

constexpr auto kLoraKernels = std::to_array<const char*>(
    {"lora_qkv_kernel", "lora_o_kernel", "lora_mlp_kernel", "lora_embedding_kernel"});

/// Whether axolotl turns its fused LoRA kernels on by itself (check_auto_enable_lora_kernels of
/// utils/schemas/config.py).
bool enables_lora_kernels(Settings& settings, TrainerConfig trainer) {
  const bool is_8bit = settings.on("load_in_8bit") && settings.text("adapter") == "lora";
  const bool shards_by_1 = is_sharded(settings) && sharding_version(settings) != "2";
  return settings.says("adapter") && !trainer && !is_8bit && !shards_by_1 &&
         !settings.on("trust_remote_code");
}

/// The kernels that are on; that of embeddings does nothing where none is adapted.
void add_lora_kernels(Settings& settings, TrainerConfig trainer, Translation& translation) {
  const bool said = std::ranges::any_of(kLoraKernels, [&](const char* name) {
    const GivenSetting* const setting = settings.find(name);
    return setting && setting->value.kind != YamlNode::Kind::null;
  });
  const bool otherwise = !said && enables_lora_kernels(settings, trainer);
  std::vector<std::string> on;
  for (const char* name : kLoraKernels)
    if (settings.on(name, otherwise) && name != std::string_view("lora_embedding_kernel"))
      on.emplace_back(name);
  if (on.empty()) return;
  if (trainer || is_sharded(settings))
    return translation.remarks.not_modelled.push_back(
        fmt::format("axolotl's fused LoRA kernels ({}) are modelled in SFT without FSDP; here "
                    "adapters are peft's",
                    fmt::join(on, ", ")));
  for (std::string& name : on) translation.add(std::move(name), "true");
}

/// _configure_embedding_dtypes: what is cast to float32 is cast back for adapters, for attention
/// kernels that take no float32, and for cut cross entropy.
bool keeps_float32(Settings& settings) {
  if (settings.find("adapter") || is_sharded(settings) || cuts_cross_entropy(settings))
    return false;
  const std::string attention = settings.text("attn_implementation").value_or("sdpa");
  return attention == "sdpa" || attention == "eager";
}

/// axolotl's word and the field of TrainingArguments or DPOConfig it becomes.
using Renamed = std::pair<std::string_view, std::string_view>;

void rename(const Settings& settings, std::span<const Renamed> words, Settings& arguments) {
  for (const auto& [word, field] : words)
    if (const GivenSetting* setting = settings.find(word)) {
      GivenSetting renamed = *setting;
      renamed.name = field;
      arguments.set(std::move(renamed));
    }
}

/// DPOConfig's own fields, and ipo, which is one of its losses.
void add_dpo(const Settings& settings, Settings& arguments) {
  constexpr auto kOfDpo =
      std::to_array<Renamed>({{"dpo_loss_type", "loss_type"},
                              {"dpo_loss_weights", "loss_weights"},
                              {"dpo_label_smoothing", "label_smoothing"},
                              {"dpo_use_weighting", "use_weighting"},
                              {"dpo_padding_free", "padding_free"},
                              {"dpo_use_liger_kernel", "use_liger_kernel"},
                              {"precompute_ref_log_probs", "precompute_ref_log_probs"}});
  rename(settings, kOfDpo, arguments);
  const GivenSetting& rl = *settings.find("rl");
  if (rl.value.text == "ipo")
    arguments.set({.name = "loss_type", .value = text_node("ipo"), .where = rl.where});
}

/// SimPO is a loss of CPOConfig.
void add_simpo(const Settings& settings, Settings& arguments) {
  constexpr auto kOfCpo =
      std::to_array<Renamed>({{"cpo_alpha", "cpo_alpha"}, {"simpo_gamma", "simpo_gamma"}});
  rename(settings, kOfCpo, arguments);
  arguments.set(
      {.name = "loss_type", .value = text_node("simpo"), .where = settings.find("rl")->where});
}

/// TRLConfig (utils/schemas/trl.py), whose fields are GRPOConfig's by their names, apart from what
/// names rewards and asks for axolotl's own prefetching.
void add_grpo(const Settings& settings, Settings& arguments) {
  constexpr auto kOfRewards = std::to_array<std::string_view>(
      {"reward_funcs", "reward_weights", "reward_processing_classes", "rollout_func"});
  rename(settings, std::to_array<Renamed>({{"rl_beta", "beta"}}), arguments);
  const GivenSetting* const trl = settings.find("trl");
  if (!trl) return;
  for (const YamlNode& member : trl->value.children)
    if (std::ranges::find(kOfRewards, member.key) == kOfRewards.end() &&
        member.kind != YamlNode::Kind::null)
      arguments.set({.name = member.key,
                     .value = member,
                     .where = fmt::format("{}.{}", trl->where, member.key)});
}

void add_renamed(const Settings& settings, TrainerConfig trainer, Settings& arguments) {
  constexpr auto kRenamed =
      std::to_array<Renamed>({{"micro_batch_size", "per_device_train_batch_size"},
                              {"gradient_accumulation_steps", "gradient_accumulation_steps"},
                              {"optimizer", "optim"},
                              {"gradient_checkpointing", "gradient_checkpointing"},
                              {"gradient_checkpointing_kwargs", "gradient_checkpointing_kwargs"},
                              {"max_grad_norm", "max_grad_norm"},
                              {"noisy_embedding_alpha", "neftune_noise_alpha"},
                              {"neftune_noise_alpha", "neftune_noise_alpha"},
                              {"ddp_bucket_cap_mb", "ddp_bucket_cap_mb"},
                              {"ddp_find_unused_parameters", "ddp_find_unused_parameters"},
                              {"deepspeed", "deepspeed"},
                              {"torch_empty_cache_steps", "torch_empty_cache_steps"}});
  rename(settings, kRenamed, arguments);
  if (!trainer) return;
  if (trainer != &transformers::kGrpo)
    rename(settings, std::to_array<Renamed>({{"sequence_len", "max_length"}}), arguments);
  if (trainer == &transformers::kDpo) add_dpo(settings, arguments);
  if (trainer == &transformers::kCpo) add_simpo(settings, arguments);
  if (trainer == &transformers::kGrpo) add_grpo(settings, arguments);
}

/// `trl` is of GRPO alone.
void note_trl(const Settings& settings, TrainerConfig trainer, Translation& translation) {
  if (trainer != &transformers::kGrpo && settings.says("trl"))
    translation.remarks.warnings.push_back(
        fmt::format("{} is read with rl: grpo or gdpo", settings.find("trl")->where));
}

/// gradient_checkpointing may also be "offload" or "offload_disk", activation_offloading by its old
/// names.
void check_checkpointing(Settings& settings) {
  const std::optional<std::string> word = settings.text("gradient_checkpointing");
  if (word && word->starts_with("offload"))
    settings.fail(*settings.find("gradient_checkpointing"),
                  "activations in host memory are not modelled", "true or false");
}

/// freeze_layers_except() before peft freezes all of the base.
void check_unfrozen(Settings& settings) {
  if (settings.says("unfrozen_parameters") && !settings.says("adapter"))
    settings.fail(*settings.find("unfrozen_parameters"),
                  "training a part of the model is not modelled", "an adapter, or leave it out");
}

Result<void> add_settings(Settings& settings, TrainerConfig trainer, Translation& translation) {
  const Dtypes dtypes = dtypes_of(settings);
  check_checkpointing(settings);
  check_unfrozen(settings);
  if (settings.failure()) return tl::unexpected(*settings.failure());
  Settings arguments;
  add_renamed(settings, trainer, arguments);
  add_sharding(settings, arguments, translation);
  if (trainer) translation.add("trainer", trainer->trainer);
  note_trl(settings, trainer, translation);
  if (const auto done = add_training_arguments(arguments, translation, trainer); !done) return done;
  add_default(translation, "per_device_train_batch_size", "1");
  // trl's configurations would checkpoint; AxolotlInputConfig says no where nobody says anything.
  if (trainer) add_default(translation, "gradient_checkpointing", "false");
  // core/builders/causal.py: where DDP is, what nobody says is no.
  if (!trainer && settings.on("ddp", true))
    add_default(translation, "ddp_find_unused_parameters", "false");
  if (dtypes.bf16) translation.add("bf16", "true");
  if (dtypes.fp16) translation.add("fp16", "true");
  translation.add("weights", dtypes.weights);
  add_adapter(settings, dtypes, translation);
  add_attention_choice(settings, translation);
  add_plugins(settings, trainer, translation);
  add_lora_kernels(settings, trainer, translation);
  if (trainer && trainer != &transformers::kGrpo) add_default(translation, "max_length", "512");
  if (!trainer) translation.add("sequence-length", settings.whole("sequence_len").value_or(512));
  if (dtypes.weights != "fp32" && !settings.on("flash_attention") && keeps_float32(settings))
    translation.remarks.not_modelled.emplace_back(
        "axolotl holds embeddings, head and norms in float32 when all is trained without flash "
        "attention; here they are in the dtype of the rest");
  if (settings.on("sample_packing"))
    translation.remarks.warnings.emplace_back(
        "packed samples are taken as micro_batch_size full sequences, each attended to whole");
  else if (!settings.on("pad_to_sequence_len") && trainer != &transformers::kGrpo)
    translation.remarks.warnings.emplace_back(
        "sequences are padded to the longest of their batch; all are taken to be sequence_len "
        "long");
  return {};
}

}  // namespace

Result<Translation> translate_axolotl(const LaunchCommand& command) {
  Result<Settings> settings = read_axolotl_arguments(command);
  if (!settings) return tl::unexpected(settings.error());
  Result<Translation> translation = begin_trainer(command);
  if (!translation) return translation;
  KnownNames known = data::axolotl_names();
  known.others_pass = true;
  translation->remarks.add(settings->check_names(known));
  if (settings->failure()) return tl::unexpected(*settings->failure());
  const Result<TrainerConfig> trainer = trainer_of(*settings);
  if (!trainer) return tl::unexpected(trainer.error());
  const std::optional<std::string> model = settings->text("base_model");
  if (!model) return bad_input("no model is named", command.arguments.front(), "base_model: MODEL");
  translation->model = *model;
  if (const auto done = add_settings(*settings, *trainer, *translation); !done)
    return tl::unexpected(done.error());
  if (settings->failure()) return tl::unexpected(*settings->failure());
  return translation;
}

}  // namespace memtape::launch
