// SPDX-License-Identifier: Apache-2.0
// axolotl (0.19): `axolotl train cfg.yml`, `accelerate launch -m axolotl.cli.train cfg.yml`, with
// --name value words that override the file. Models are loaded in the dtype that bf16 or fp16 says
// (utils/config: torch_dtype); quantized ones lose what prepare_model_for_kbit_training casts to
// float32 again (loaders/model.py: _configure_embedding_dtypes).
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/typed_number.h"
#include "launch/programs.h"
#include "launch/trainer_program.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// What `rl` says: trl's trainers, under axolotl's names (core/builders/rl.py). GDPO is GRPO that
/// adds its rewards up in another way. Null: Trainer itself.
TrainerConfig trainer_of(Settings& settings) {
  constexpr auto kTrainers = std::to_array<Word>({{"dpo", "dpo"},
                                                  {"ipo", "dpo"},
                                                  {"kto", "kto"},
                                                  {"orpo", "orpo"},
                                                  {"simpo", "cpo"},
                                                  {"grpo", "grpo"},
                                                  {"gdpo", "grpo"}});
  if (!settings.says("rl")) return nullptr;
  const GivenSetting& rl = *settings.find("rl");
  const std::string_view name = meaning_of(rl.value.text, kTrainers);
  for (const TrainerConfig trainer : transformers::trl_configs())
    if (trainer->trainer == name) return trainer;
  settings.fail(unsupported(fmt::format("rl {} is not modelled", option_text(rl.value)), rl.where,
                            "dpo, ipo, kto, orpo, simpo, grpo or gdpo"));
  return nullptr;
}

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

/// Fields may begin with "fsdp_"; pydantic drops those that FSDPConfig does not have.
void add_axolotl_sharding(Settings& arguments, Reading& reading) {
  const Settings& settings = reading.settings;
  if (!is_sharded(settings)) return;
  const GivenSetting* const said = settings.says("fsdp") ? settings.find("fsdp") : nullptr;
  const GivenSetting* const configured =
      settings.says("fsdp_config") ? settings.find("fsdp_config") : nullptr;
  std::string words = "true";
  if (said && said->value.kind == YamlNode::Kind::sequence)
    words = fmt::format("{}", fmt::join(reading.settings.words("fsdp"), " "));
  arguments.set_text("fsdp", std::move(words), (said ? said : configured)->where);
  JsonObject config;
  config.add("version", sharding_version(settings));
  // Its own fsdp2_prepare_model (monkeypatch/accelerate/fsdp2.py, since August 2025) leaves dtypes.
  config.add("upcast_trained", false);
  const KnownNames fields = data::axolotl_fsdp_settings().names;
  for (const YamlNode& member : configured ? configured->value.children : std::vector<YamlNode>()) {
    const std::string_view key = member.key, name = key.substr(key.starts_with("fsdp_") ? 5 : 0);
    if (std::ranges::find(fields.modelled, name) != fields.modelled.end())
      config.add(name, option_text(member));
    else if (std::ranges::find(fields.neutral, name) == fields.neutral.end())
      reading.warn(
          fmt::format("{}: {} does nothing: axolotl does not pass it on", configured->where, key));
  }
  arguments.set_text("fsdp_config", config.text(), (configured ? configured : said)->where);
}

/// --bf16, --fp16 and --weights (utils/config/__init__.py: torch_dtype); bf16: auto is true on what
/// memtape knows as GPUs. Returned is torch's name of the weights' dtype.
std::string add_dtypes(Reading& reading) {
  Settings& settings = reading.settings;
  const std::string said = settings.text("bf16").value_or("auto");
  const bool full = said == "full",
             bf16 = !full && (said == "auto" ? !settings.on("fp16") : settings.on("bf16")),
             fp16 = !full && !bf16 && settings.on("fp16");
  if (bf16 || fp16) reading.translation.add(bf16 ? "bf16" : "fp16", "true");
  const bool in_bf16 = bf16 || full || settings.on("bfloat16"),
             in_fp16 = fp16 || settings.on("float16") || settings.on("load_in_8bit");
  reading.translation.add("weights", in_bf16 ? "bf16" : in_fp16 ? "fp16" : "fp32");
  return in_bf16 ? "bfloat16" : in_fp16 ? "float16" : "float32";
}

void add_adapter(const std::string& dtype, Reading& reading) {
  constexpr auto kAdapters = std::to_array<std::string_view>({"lora", "qlora"});
  Settings& settings = reading.settings;
  if (!settings.choice("adapter", kAdapters)) return;
  std::vector<std::string> targets = settings.words("lora_target_modules");
  std::string pattern;
  const GivenSetting* const named = settings.find("lora_target_modules");
  if (named && named->value.kind == YamlNode::Kind::scalar) pattern = std::move(targets.front());
  if (settings.on("lora_target_linear")) targets = {"all-linear"}, pattern.clear();
  // find_all_linear_names takes packed layers, too, by the names of their classes.
  add_lora(reading.members("peft"), targets, pattern, reading, settings.on("lora_target_linear"));
  // loaders/model.py, _set_quantization_config
  if (add_loaded_bits({.double_quant = true, .compute_dtype = dtype, .storage = "bfloat16"},
                      reading))
    reading.translation.add("prepare_model_for_kbit_training", "false");
  if (!settings.says("quantize_moe_experts")) return;
  reading.add_options("experts");
  if (is_sharded(settings) || settings.says("deepspeed") || !settings.on("load_in_4bit"))
    settings.fail(*settings.find("quantize_moe_experts"),
                  "is modelled with load_in_4bit and without shards",
                  "load_in_4bit: true, without fsdp and deepspeed");
}

void add_attention_choice(Reading& reading) {
  if (const GivenSetting* said = reading.settings.find("attn_implementation")) {
    const std::string_view nearest = meaning_of(said->value.text, data::axolotl_attention());
    if (nearest.empty()) return add_attention("attn_implementation", reading);
    reading.translation.add("attention", nearest);
    return reading.not_modelled(fmt::format("{}: the kernel of {} is counted as that of {}",
                                            said->where, said->value.text, nearest));
  }
  if (reading.settings.on("flash_attention")) reading.translation.add("attention", "flash");
  if (reading.settings.on("eager_attention")) reading.translation.add("attention", "eager");
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
void add_plugins(TrainerConfig trainer, Reading& reading) {
  Settings& settings = reading.settings;
  // The last two report, or measure afterwards.
  constexpr auto kKnown =
      std::to_array<std::string_view>({"Liger", "CutCrossEntropy", "SwanLab", "LMEval"});
  for (const std::string& plugin : settings.words("plugins"))
    if (std::ranges::none_of(kKnown, [&](auto part) { return plugin.find(part) != plugin.npos; }))
      reading.not_modelled(fmt::format("{}: the plugin {} is not modelled",
                                       settings.find("plugins")->where, plugin));
  if (!trainer && cuts_cross_entropy(settings))
    reading.translation.add("cut_cross_entropy", "true");
  if (!has_plugin(settings, "Liger")) return;
  reading.translation.add("use_liger_kernel", "true");
  reading.translation.add("liger_kernel_config", reading.members("liger").text());
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
void add_lora_kernels(TrainerConfig trainer, Reading& reading) {
  Settings& settings = reading.settings;
  const bool said = std::ranges::any_of(
      kLoraKernels, [&](const char* name) { return settings.find(name) != nullptr; });
  const bool otherwise = !said && enables_lora_kernels(settings, trainer);
  std::vector<std::string> on;
  for (const char* name : kLoraKernels)
    if (settings.on(name, otherwise) && name != std::string_view("lora_embedding_kernel"))
      on.emplace_back(name);
  if (on.empty()) return;
  if (trainer || is_sharded(settings))
    return reading.not_modelled(
        fmt::format("axolotl's fused LoRA kernels ({}) are modelled in SFT without FSDP; here "
                    "adapters are peft's",
                    fmt::join(on, ", ")));
  for (const std::string& name : on) reading.translation.add(name, "true");
}

/// _configure_embedding_dtypes: what is cast to float32 is cast back for adapters, for attention
/// kernels that take no float32, and for cut cross entropy.
bool keeps_float32(Settings& settings) {
  if (settings.find("adapter") || is_sharded(settings) || cuts_cross_entropy(settings))
    return false;
  const std::string attention = settings.text("attn_implementation").value_or("sdpa");
  return attention == "sdpa" || attention == "eager";
}

/// The settings of a group by the names of TrainingArguments' fields, or of trl's that extend them.
void rename(std::string_view group, const Reading& reading, Settings& arguments) {
  for (const SettingRow& row : reading.rows())
    if (const GivenSetting* setting = reading.settings.find(row.setting);
        row.group == group && setting)
      arguments.set({std::string(row.as), setting->value, setting->where});
}

/// optim_args as a mapping becomes key=value,... (core/builders/base.py).
void add_optimizer_words(const Settings& settings, Settings& arguments) {
  const GivenSetting* const given = settings.find("optim_args");
  std::vector<std::string> words;
  for (const YamlNode& member : given ? given->value.children : std::vector<YamlNode>())
    words.push_back(fmt::format("{}={}", member.key, option_text(member)));
  if (!words.empty())
    arguments.set_text("optim_args", fmt::format("{}", fmt::join(words, ",")), given->where);
}

/// TRLConfig (utils/schemas/trl.py), whose fields are GRPOConfig's by their names, apart from what
/// names rewards and asks for axolotl's own prefetching.
void add_grpo(const Settings& settings, Settings& arguments) {
  constexpr auto kOfRewards = std::to_array<std::string_view>(
      {"reward_funcs", "reward_weights", "reward_processing_classes", "rollout_func"});
  const GivenSetting* const trl = settings.find("trl");
  if (!trl) return;
  for (const YamlNode& member : trl->value.children)
    if (std::ranges::find(kOfRewards, member.key) == kOfRewards.end() &&
        member.kind != YamlNode::Kind::null)
      arguments.set({.name = member.key,
                     .value = member,
                     .where = fmt::format("{}.{}", trl->where, member.key)});
}

/// What the trainer of `rl` has beside TrainingArguments. ipo and simpo are losses of their
/// trainers' configurations; `trl` is of GRPO alone.
void add_reinforcement(TrainerConfig trainer, Reading& reading, Settings& arguments) {
  const Settings& settings = reading.settings;
  const bool is_grpo = trainer == &transformers::kGrpo;
  if (!is_grpo && settings.says("trl"))
    reading.warn(fmt::format("{} is read with rl: grpo or gdpo", settings.find("trl")->where));
  if (!trainer) return;
  const GivenSetting& rl = *settings.find("rl");
  rename(trainer->trainer, reading, arguments);
  if (is_grpo) return add_grpo(settings, arguments);
  if (const GivenSetting* length = settings.find("sequence_len"))
    arguments.set({"max_length", length->value, length->where});
  if (rl.value.text == "ipo" || rl.value.text == "simpo")
    arguments.set_text("loss_type", rl.value.text, rl.where);
}

/// activation_offloading, or gradient_checkpointing: offload, which it replaces: trl's
/// OffloadActivations around the step, in the place of recomputing where adapters are trained.
void add_offloading(Reading& reading) {
  Settings& settings = reading.settings;
  const std::string checkpointing = settings.text("gradient_checkpointing").value_or("");
  const bool is_old = checkpointing.starts_with("offload");
  if (!is_old && !settings.says("activation_offloading")) return;
  if (is_old) settings.set_text("gradient_checkpointing", "true", "gradient_checkpointing");
  if (!settings.on("gradient_checkpointing"))
    settings.fail(*settings.find("activation_offloading"), "axolotl wants checkpointing beside it",
                  "gradient_checkpointing: true");
  reading.not_modelled(
      "activation_offloading: what host memory takes of the layers' inputs is counted on the GPU, "
      "as gradient_checkpointing keeps them");
}

/// "model.layers.1[0-9].mlp.*", "^model.embed_tokens.weight$[:32000]": expressions over names, of
/// which the rows at the end only spare some of the gradients (LayerNamePattern).
void add_unfrozen_parameters(Reading& reading) {
  std::vector<std::string> expressions;
  for (std::string text : reading.settings.words("unfrozen_parameters")) {
    const std::size_t open = text.rfind('[');
    if (text.ends_with(']') && text.find_first_not_of("0123456789:", open + 1) + 1 == text.size())
      text.resize(open);
    expressions.push_back(fmt::format("({})", text));
  }
  // An adapter freezes the base anyway.
  if (!expressions.empty() && !reading.settings.says("adapter"))
    reading.translation.add("unfrozen_parameters", fmt::format("{}", fmt::join(expressions, "|")));
}

/// How long a sequence is on a GPU: context_parallel_size GPUs share each.
std::int64_t length_on_gpu(Reading& reading) {
  const std::int64_t length = reading.settings.whole("sequence_len").value_or(512);
  for (const SaidRow& said : said_rows(reading.rows(), "split", reading.settings)) {
    const std::int64_t degree = whole_number(said.value).value_or(1);
    if (degree < 2) continue;
    reading.not_modelled(
        fmt::format("{} {}: each GPU holds its part of every sequence; what ring attention "
                    "exchanges is not counted",
                    said.row->setting, degree));
    return (length + degree - 1) / degree;
  }
  return length;
}

void warn_of_sequences(TrainerConfig trainer, Reading& reading) {
  if (reading.settings.on("sample_packing"))
    reading.warn(
        "packed samples are taken as micro_batch_size full sequences, each attended to whole");
  else if (!reading.settings.on("pad_to_sequence_len") && trainer != &transformers::kGrpo)
    reading.warn(
        "sequences are padded to the longest of their batch; all are taken to be sequence_len "
        "long");
}

void say_axolotl(Reading& reading) {
  Settings& settings = reading.settings;
  Translation& translation = reading.translation;
  const TrainerConfig trainer = trainer_of(settings);
  reading.take_model(settings.text("base_model"), "base_model: MODEL",
                     reading.command.arguments.front());
  add_offloading(reading);
  Settings arguments;
  rename("argument", reading, arguments);
  add_optimizer_words(settings, arguments);
  add_reinforcement(trainer, reading, arguments);
  add_axolotl_sharding(arguments, reading);
  if (trainer) translation.add("trainer", trainer->trainer);
  add_training_arguments(arguments, trainer, reading);
  reading.add_default("per_device_train_batch_size", "1");
  // trl's configurations would checkpoint; AxolotlInputConfig says no where nobody says anything.
  if (trainer) reading.add_default("gradient_checkpointing", "false");
  // core/builders/causal.py: where DDP is, what nobody says is no.
  if (!trainer && settings.on("ddp", true))
    reading.add_default("ddp_find_unused_parameters", "false");
  const std::string dtype = add_dtypes(reading);
  add_adapter(dtype, reading);
  add_attention_choice(reading);
  add_plugins(trainer, reading);
  add_lora_kernels(trainer, reading);
  if (trainer && trainer != &transformers::kGrpo) reading.add_default("max_length", "512");
  if (!trainer) translation.add("sequence-length", length_on_gpu(reading));
  add_unfrozen_parameters(reading);
  if (dtype != "float32" && !settings.on("flash_attention") && keeps_float32(settings))
    reading.not_modelled(
        "axolotl holds embeddings, head and norms in float32 when all is trained without flash "
        "attention; here they are in the dtype of the rest");
  warn_of_sequences(trainer, reading);
}

void begin_axolotl(Reading& reading) {
  if (reading.settings.on("use_ray"))
    reading.command.processes.on_all = reading.settings.whole("ray_num_workers").value_or(1);
  begin_trainer(reading);
}

}  // namespace

const SettingsProgram kAxolotl{.table = data::axolotl_settings,
                               .style = {.name = "axolotl train", .file = WordStyle::File::first},
                               .say = say_axolotl,
                               .begin = begin_axolotl,
                               .others_pass = true};

}  // namespace memtape::launch
