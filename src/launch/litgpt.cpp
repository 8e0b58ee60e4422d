// SPDX-License-Identifier: Apache-2.0
// litgpt (0.5.13): `litgpt finetune_lora CHECKPOINT_DIR --train.micro_batch_size 4 ...`, and
// finetune_full, finetune_adapter and finetune_adapter_v2; --config names a YAML file, whose
// settings come before the words'. How long samples are is the data's affair unless
// train.max_seq_length cuts them.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/programs.h"
#include "launch/reading.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

constexpr auto kFlatSections = std::to_array<std::string_view>({"train", "eval"});

/// The words without those of --data.NAME, --log.NAME and --optimizer.init_args.NAME, which are the
/// fields of classes the words name; the operand is the checkpoint.
std::vector<std::string> own_words(std::span<const std::string> words) {
  std::vector<std::string> own;
  if (!words.empty() && !words.front().starts_with("--")) {
    own.push_back("--checkpoint_dir=" + words.front());
    words = words.subspan(1);
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("--data.") && !word.starts_with("--log.") &&
        !word.starts_with("--optimizer.init_args."))
      own.push_back(word);
    else if (word.find('=') == std::string::npos && i + 1 < words.size() &&
             !words[i + 1].starts_with("--"))
      ++i;
  }
  return own;
}

Result<Settings> read_litgpt(const LaunchCommand& command, const WordStyle& style) {
  LaunchCommand own = command;
  own.arguments = own_words(command.arguments);
  return read_words(own, style, data::litgpt_settings().names.all());
}

void add_litgpt_adapters(Reading& reading) {
  struct Part {
    std::string_view name, flag;
    bool on;
  };
  constexpr auto kParts = std::to_array<Part>({{"query", "lora_query", true},
                                               {"key", "lora_key", false},
                                               {"value", "lora_value", true},
                                               {"projection", "lora_projection", false},
                                               {"mlp", "lora_mlp", false},
                                               {"head", "lora_head", false}});
  std::vector<std::string_view> targets;
  for (const Part& part : kParts)
    if (reading.settings.on(part.flag, part.on)) targets.push_back(part.name);
  reading.add_options("lora");
  reading.translation.add("lora-targets", fmt::format("{}", fmt::join(targets, ",")));
}

/// optimizer: AdamW, or {class_path: torch.optim.AdamW, init_args: ...}.
void add_litgpt_optimizer(Reading& reading) {
  const GivenSetting* setting = reading.settings.find("optimizer");
  if (!setting) return;
  const YamlNode* path = setting->value.find("class_path");
  std::string name = path ? path->text : setting->value.text;
  name = name.substr(name.rfind('.') + 1);
  const std::string_view ours = meaning_of(name, data::torch_optimizers());
  if (ours.empty() || ours == "adafactor")
    return reading.settings.fail(*setting, fmt::format("the optimizer {} is not modelled", name),
                                 "AdamW");
  reading.translation.add("optimizer", ours);
}

void say_litgpt(Reading& reading) {
  Settings& settings = reading.settings;
  Translation& translation = reading.translation;
  translation.add("framework", "litgpt");
  std::optional<std::string> checkpoint = settings.text("checkpoint_dir");
  constexpr std::string_view kFolder = "checkpoints/";
  if (checkpoint && checkpoint->starts_with(kFolder)) checkpoint->erase(0, kFolder.size());
  reading.take_model(checkpoint, fmt::format("{} microsoft/phi-1_5", reading.name()));
  if (reading.name().ends_with("lora")) add_litgpt_adapters(reading);
  constexpr std::string_view kFinetune = "finetune_";
  if (const std::size_t place = reading.name().find("finetune_adapter");
      place != std::string_view::npos) {
    JsonObject strategy;
    strategy.add("finetune", reading.name().substr(place + kFinetune.size()));
    translation.add("strategy", strategy.text());
  }
  reading.add_options();
  if (settings.says("quantize")) reading.add_options("quantized");
  add_litgpt_optimizer(reading);
  const auto count = [&](std::string_view name, std::int64_t otherwise) {
    return std::max<std::int64_t>(1, settings.whole(name).value_or(otherwise));
  };
  const std::int64_t devices = count("devices", 1) * count("num_nodes", 1),
                     each = devices * count("train.micro_batch_size", 1);
  translation.add("gradient-accumulation",  // TrainArgs.gradient_accumulation_iters
                  std::max<std::int64_t>(1, count("train.global_batch_size", 16) / each));
  if (!settings.find("train.max_seq_length"))
    reading.warn(
        "train.max_seq_length is not set: the longest sample decides; --sequence-length before the "
        "-- says how long");
  if (devices > 1) translation.add("gpus", devices);
}

constexpr SettingsProgram program_called(std::string_view name) {
  return {.table = data::litgpt_settings,
          .style = {.name = name, .file = WordStyle::File::config, .flat_sections = kFlatSections},
          .say = say_litgpt,
          .read = read_litgpt,
          .begin = begin_training};
}

}  // namespace

const SettingsProgram kLitgptLora = program_called("litgpt finetune_lora");
const SettingsProgram kLitgptFull = program_called("litgpt finetune_full");
const SettingsProgram kLitgptAdapter = program_called("litgpt finetune_adapter");
const SettingsProgram kLitgptAdapterV2 = program_called("litgpt finetune_adapter_v2");

}  // namespace memtape::launch
