// SPDX-License-Identifier: Apache-2.0
// trl's programs (1.16): `trl sft|dpo|reward|grpo|rloo|kto ...` and trl/scripts/sft.py, dpo.py,
// reward.py, grpo.py, rloo.py and kto.py, with a configuration in YAML (--config) that sets
// defaults. Words that are accelerate's go to its launcher. And trl's examples cpo.py and orpo.py
// (examples/scripts), which load the checkpoint as it is, whatever ModelConfig says of it.
#include <algorithm>

#include <fmt/format.h>

#include "launch/programs.h"
#include "launch/trainer_program.h"
#include "launch/words.h"
#include "launch/wrappers.h"

namespace memtape::launch {
namespace {

using transformers::TrlConfig;

/// Whether the program passes ModelConfig's dtype, attention and quantization over.
bool loads_as_it_is(const TrlConfig& trainer) {
  return &trainer == &transformers::kCpo || &trainer == &transformers::kOrpo;
}

/// The fields of the trainer's configuration: they share some of SFTConfig's and DPOConfig's.
std::vector<std::string_view> all_fields(const SettingsProgram& program) {
  const TrlConfig& trainer = *program.trainer;
  std::vector<std::string_view> names = training_fields(program);
  const auto add = [&](const TrlConfig& config) {
    for (const std::string_view name : config.own_names()) names.push_back(name);
  };
  add(transformers::kSft);
  if (&trainer != &transformers::kSft) add(transformers::kDpo);
  if (&trainer == &transformers::kRloo) add(transformers::kGrpo);
  add(trainer);
  if (loads_as_it_is(trainer)) {
    add(transformers::kCpo);
    names.push_back("max_completion_length");
  }
  for (const std::string_view earlier : transformers::earlier_trl_names(trainer.bit()))
    names.push_back(earlier);
  for (const std::string_view own : {"prompt_length", "packed_sequences"})  // memtape's own
    std::erase(names, own);
  return names;
}

/// --accelerate_config: one that trl ships, or a file; --num_processes comes before what it says.
void begin_trl(Reading& reading) {
  Settings& settings = reading.settings;
  // trl's own program goes through accelerate's launcher (trl/cli).
  if (reading.command.program == "trl") reading.command.processes.one_for_each_gpu = true;
  if (const std::optional<std::string> name = settings.text("accelerate_config")) {
    const std::string_view shipped = meaning_of(*name, data::trl_accelerate_configs());
    if (shipped.empty() && name->find_first_of("./") == std::string::npos)
      return settings.fail(
          bad_input(fmt::format("{} is neither a file nor a configuration that trl ships", *name),
                    settings.find("accelerate_config")->where,
                    "single_gpu, multi_gpu, fsdp1, fsdp2, zero1, zero2 or zero3"));
    Result<Settings> config = shipped.empty() ? read_settings_file(*reading.command.files, *name)
                                              : read_settings(shipped, *name + ".yaml");
    if (!config) return settings.fail(tl::unexpected(config.error()));
    if (const auto noted = note_accelerate(*std::move(config), reading.command); !noted)
      return settings.fail(tl::unexpected(noted.error()));
  }
  if (const std::optional<std::int64_t> processes = settings.whole("num_processes"))
    reading.command.processes.on_all = *processes;
  begin_trainer(reading);
}

/// dtype, attention and quantization as ModelConfig has them.
void add_loading(Reading& reading) {
  Settings& settings = reading.settings;
  const char* const name = settings.find("torch_dtype") ? "torch_dtype" : "dtype";  // before 0.27
  const std::optional<std::string> dtype = settings.text(name);
  if (dtype)
    add_weights(name, reading);
  else
    reading.translation.add("weights", "fp32");  // ModelConfig's default
  add_attention("attn_implementation", reading);
  add_loaded_bits({.double_quant = settings.on("use_bnb_nested_quant"),
                   .type = settings.text("bnb_4bit_quant_type").value_or("nf4"),
                   .compute_dtype = dtype.value_or("float32")},
                  reading);
}

/// The settings of ModelConfig that a program which loads the checkpoint as it is does not read.
void warn_of_loading(Reading& reading) {
  for (const std::string_view name :
       {"dtype", "attn_implementation", "load_in_4bit", "load_in_8bit"})
    if (reading.settings.find(name))
      reading.warn(
          fmt::format("the example loads the checkpoint as it is and does not read --{}", name));
}

void add_trl_adapters(Reading& reading) {
  Settings& settings = reading.settings;
  std::vector<std::string> saved = settings.words("lora_modules_to_save");
  if (settings.text("lora_task_type").value_or("") == "SEQ_CLS") saved.push_back("score");
  const std::vector<std::string> targets = settings.words("lora_target_modules");
  // ModelConfig hands a single name over as a text.
  const bool is_pattern = targets.size() == 1 && targets.front() != "all-linear";
  if (!settings.on("use_peft")) return;
  JsonObject config = reading.members("peft");
  if (!saved.empty()) config.add("modules_to_save", saved);
  add_lora(std::move(config), targets, is_pattern ? targets.front() : "", reading);
}

void say_trl(Reading& reading) {
  Settings& settings = reading.settings;
  const TrlConfig& trainer = *reading.program->trainer;
  reading.take_model(settings.text("model_name_or_path"), "--model_name_or_path MODEL");
  if (loads_as_it_is(trainer))
    warn_of_loading(reading);
  else
    add_loading(reading);
  add_trl_adapters(reading);
  reading.translation.add("trainer", trainer.trainer);
  add_training_arguments(settings, &trainer, reading);
  if (&trainer == &transformers::kGrpo || &trainer == &transformers::kRloo)
    return reading.warn(
        "completions are taken to be max_completion_length long, and no longer than that");
  if (!settings.on("packing"))
    reading.warn(
        "sequences are padded to the longest of their batch; all are taken to be max_length long");
}

}  // namespace

Result<Translation> translate_trl(const LaunchCommand& command, const TrlConfig& trainer) {
  const SettingsProgram program{.table = data::trl_settings,
                                .style = {.file = WordStyle::File::config, .negatives = true},
                                .say = say_trl,
                                .begin = begin_trl,
                                .fields = all_fields,
                                .trainer = &trainer};
  return translate(program, command);
}

}  // namespace memtape::launch
