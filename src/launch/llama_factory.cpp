// SPDX-License-Identifier: Apache-2.0
// LLaMA-Factory (0.9.5): `llamafactory-cli train cfg.yaml [name=value ...]`, or with --name value;
// src/train_bash.py of releases before 0.7.1, whose names are read, too.
// Its Trainer differs by what it does to the model first (model/adapter.py): it is loaded in 16 bits
// whether bf16 is said or not (extras/misc.py, infer_optim_dtype), what is trained is cast to
// float32 unless pure_bf16, and checkpointing is on.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/programs.h"
#include "launch/trainer_program.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// The linear layers that a setting names; `all` where it names none, or "all".
std::vector<std::string> targets_of(std::string_view setting, const char* all, Settings& settings) {
  std::vector<std::string> targets = separate_names(settings.words(setting));
  if (targets.empty() || targets.front() == "all") targets = {all};
  return targets;
}

/// finetuning_type freeze: whole layers, which are cast as all is in full.
void add_trained_layers(Reading& reading) {
  Settings& settings = reading.settings;
  for (const char* name : {"freeze_trainable_modules", "name_module_trainable"})
    if (targets_of(name, "all", settings).front() != "all")
      settings.fail(*settings.find(name), "training some modules of a layer is not modelled",
                    "all");
  reading.add_options("freeze");
  if (!settings.on("pure_bf16")) reading.translation.add("upcast-trained", "true");
}

void add_factory_lora(bool fp16, Reading& reading) {
  Settings& settings = reading.settings;
  reading.add_default("ddp_find_unused_parameters", "false");  // hparams/parser.py
  JsonObject config = reading.members("peft");
  if (!settings.find("lora_alpha"))
    config.add("lora_alpha", 2.0 * static_cast<double>(settings.whole("lora_rank").value_or(8)));
  add_lora(std::move(config), targets_of("lora_target", "all-linear", settings), {}, reading,
           true);  // find_all_linear_modules
  const std::optional<std::int64_t> bits = settings.whole("quantization_bit");
  if (!bits) return;
  if (*bits != 4 && *bits != 8)
    settings.fail(*settings.find("quantization_bit"), "only 4 and 8 bits are modelled", "4");
  // Packed in the type that is computed with, for FSDP (model/model_utils/quantization.py).
  const std::string dtype = fp16 ? "float16" : "bfloat16";
  add_quantization({.bits = static_cast<int>(*bits),
                    .double_quant = settings.on("double_quantization", true),
                    .type = settings.text("quantization_type").value_or("nf4"),
                    .compute_dtype = dtype,
                    .storage = dtype},
                   reading);
  reading.translation.add("prepare_model_for_kbit_training", "false");
}

void add_finetuning(Reading& reading) {
  constexpr auto kTypes = std::to_array<std::string_view>({"lora", "full", "freeze", "oft"});
  Settings& settings = reading.settings;
  const std::string type = settings.choice("finetuning_type", kTypes).value_or("lora");
  const bool pure = settings.on("pure_bf16"), fp16 = settings.on("fp16") && !pure;
  const bool in_float32 = type == "full" && !pure;
  if (type == "oft")
    settings.fail(*settings.find("finetuning_type"), "OFT's adapters are not modelled",
                  "lora, freeze or full");
  reading.translation.add("weights", in_float32 ? "fp32" : fp16 ? "fp16" : "bf16");
  const bool freezes = type == "full" && settings.on("freeze_vision_tower", true);
  if (freezes) reading.translation.add("freeze", "towers");
  if (type == "freeze") add_trained_layers(reading);
  if (type == "lora") add_factory_lora(fp16, reading);
}

/// use_galore, use_apollo (train/trainer_utils.py): Trainer's optimizers of that name, not of the
/// head. LLaMA-Factory refuses others, transformers' default for torch from 2.8 on among them.
void add_low_rank(const std::string& name, Reading& reading) {
  Settings& settings = reading.settings;
  const std::string optim = settings.text("optim").value_or("adamw_torch");
  const std::string_view optimizer =
      meaning_of(fmt::format("{}/{}", name, optim), data::llama_factory_low_rank());
  if (optimizer.empty())
    return settings.fail(*settings.find("optim"),
                         fmt::format("LLaMA-Factory knows no {} of \"{}\"", name, optim),
                         "adamw_torch");
  if (!settings.find("optim"))
    reading.warn(fmt::format(
        "optim is taken to be adamw_torch: with {} LLaMA-Factory refuses transformers' default",
        name));
  reading.drop({"optim"});
  const bool layerwise = settings.on(name + "_layerwise");
  reading.translation.add("optim", fmt::format("{}{}", optimizer, layerwise ? "_layerwise" : ""));
  // The head's name has no dot.
  reading.translation.add("optim_target_modules",
                          json_list(targets_of(name + "_target", ".", settings)));
  std::vector<std::string> arguments;
  for (const SaidRow& said : said_rows(reading.rows(), name, settings))
    arguments.push_back(fmt::format("{}={}", said.row->as, said.value));
  reading.translation.add("optim_args", fmt::format("{}", fmt::join(arguments, ",")));
}

void add_factory_checkpointing(Reading& reading) {
  if (reading.settings.on("disable_gradient_checkpointing"))
    return reading.translation.add("use_cache", "false");  // model/model_utils/kv_cache.py
  reading.drop({"gradient_checkpointing", "gradient_checkpointing_kwargs"});
  reading.translation.add("gradient_checkpointing", "true");
  const bool reentrant = reading.settings.on("use_reentrant_gc", true);
  reading.translation.add("gradient_checkpointing_kwargs",
                          JsonObject().add("use_reentrant", reentrant).text());
}

void say_llama_factory(Reading& reading) {
  constexpr auto kStages =
      std::to_array<std::string_view>({"pt", "sft", "rm", "ppo", "dpo", "kto"});
  Settings& settings = reading.settings;
  const std::string stage = settings.choice("stage", kStages).value_or("sft");
  if (stage == "ppo")
    settings.fail(unsupported("stage ppo is not modelled", settings.find("stage")->where,
                              "sft, pt, rm, dpo or kto"));
  reading.take_model(settings.text("model_name_or_path"), "model_name_or_path: MODEL");
  if (stage == "dpo" || stage == "kto" || stage == "rm")
    reading.translation.add("trainer", "llama-factory-" + stage);
  if (stage == "dpo")  // CustomDPOTrainer, which says whether there is a reference
    reading.translation.add("pref_loss", settings.text("pref_loss").value_or("sigmoid"));
  add_training_arguments(settings, nullptr, reading);
  for (const char* name : {"galore", "apollo"})
    if (settings.on(fmt::format("use_{}", name))) add_low_rank(name, reading);
  add_finetuning(reading);
  add_factory_checkpointing(reading);
  if (settings.says("max_source_length") || settings.says("max_target_length"))  // before 0.2
    settings.set_text("cutoff_len",
                      fmt::format("{}", settings.whole("max_source_length").value_or(512) +
                                            settings.whole("max_target_length").value_or(512)),
                      reading.name());
  reading.add_options();
  if (!settings.on("packing") && !settings.on("sft_packing") && stage != "pt")
    reading.warn(
        "sequences are padded to the longest of their batch; all are taken to be cutoff_len long");
}

/// launcher.py: torchrun with NNODES and NPROC_PER_NODE, else a process for each GPU; or the workers
/// of Ray. src/train.py does not start others.
void begin_llama_factory(Reading& reading) {
  LaunchCommand& command = reading.command;
  if (!command.program.ends_with(".py")) {
    command.processes.one_for_each_gpu = true;
    note_torchrun_of_its_own(reading);
    if (command.variable("USE_RAY"))
      command.processes.on_all = reading.settings.whole("ray_num_workers").value_or(1);
  }
  begin_trainer(reading);
}

}  // namespace

const SettingsProgram kLlamaFactory{
    .table = data::llama_factory_settings,
    .style = {.name = "llamafactory-cli train", .file = WordStyle::File::pairs},
    .say = say_llama_factory,
    .begin = begin_llama_factory,
    .fields = training_fields};

}  // namespace memtape::launch
