// SPDX-License-Identifier: Apache-2.0
// litgpt (0.5.13): `litgpt finetune_lora CHECKPOINT_DIR --train.micro_batch_size 4 ...`, and
// finetune_full; --config names a YAML file, whose settings come before the words'. How long
// samples are is the data's affair unless train.max_seq_length cuts them.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "launch/programs.h"
#include "launch/python_arguments.h"
#include "launch/setting_names.h"
#include "launch/setting_rows.h"

namespace memtape::launch {
namespace {

/// The words without those of --data.NAME, --log.NAME and --optimizer.init_args.NAME, which are the
/// fields of classes the words name; the operand goes to `checkpoint`.
std::vector<std::string> own_words(std::span<const std::string> words, std::string& checkpoint) {
  std::vector<std::string> own;
  const auto foreign = [](const std::string& word) {
    return word.starts_with("--data.") || word.starts_with("--log.") ||
           word.starts_with("--optimizer.init_args.");
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == 0 && !words[i].starts_with("--")) {
      checkpoint = words[i];
    } else if (foreign(words[i])) {
      if (words[i].find('=') == std::string::npos && i + 1 < words.size() &&
          !words[i + 1].starts_with("--"))
        ++i;
    } else {
      own.push_back(words[i]);
    }
  }
  return own;
}

/// train: {micro_batch_size: 4} as train.micro_batch_size.
void set_flat(const YamlNode& mapping, std::string_view file, Settings& settings) {
  YamlNode flat = mapping;
  flat.children.clear();
  for (const YamlNode& member : mapping.children) {
    if ((member.key != "train" && member.key != "eval") || member.kind != YamlNode::Kind::mapping) {
      flat.children.push_back(member);
      continue;
    }
    for (YamlNode field : member.children) {
      field.key = member.key + "." + field.key;
      flat.children.push_back(std::move(field));
    }
  }
  settings.set_all(flat, file);
}

Result<Settings> read(const LaunchCommand& command, std::string_view program,
                      std::string& checkpoint) {
  const std::vector<std::string> words = own_words(command.arguments, checkpoint);
  const std::vector<std::string_view> names = data::litgpt_names().all();
  const Result<Settings> given =
      read_python_arguments(words, {.name = program, .names = names, .on_by_default = {}});
  if (!given) return given;
  Settings settings;
  if (const GivenSetting* config = given->find("config")) {
    const Result<std::string> text = command.files->read(config->value.text);
    if (!text) return tl::unexpected(text.error());
    const Result<YamlNode> mapping = read_yaml_mapping(*text, config->value.text);
    if (!mapping) return tl::unexpected(mapping.error());
    set_flat(*mapping, config->value.text, settings);
  }
  for (const GivenSetting& setting : given->all()) settings.set(setting);
  return settings;
}

void add_litgpt_adapters(Settings& settings, Translation& translation) {
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
    if (settings.on(part.flag, part.on)) targets.push_back(part.name);
  translation.add("lora-rank", settings.whole("lora_r").value_or(8));
  translation.add("lora-targets", fmt::format("{}", fmt::join(targets, ",")));
  translation.add("lora-dropout", settings.number("lora_dropout").value_or(0.05));
}

void add_precision(Settings& settings, Translation& translation) {
  constexpr auto kPrecisions = std::to_array<Word>({{"bf16-true", "bf16"},
                                                    {"bf16-mixed", "amp-bf16"},
                                                    {"32-true", "fp32"},
                                                    {"16-true", "fp16"},
                                                    {"16-mixed", "amp-fp16"}});
  translation.add("precision", in_our_words("precision", kPrecisions, settings).value_or("bf16"));
  constexpr auto kModes =
      std::to_array<std::string_view>({"bnb.nf4", "bnb.nf4-dq", "bnb.fp4", "bnb.fp4-dq"});
  if (const GivenSetting* quantize = settings.find("quantize");
      quantize && quantize->says_something())
    if (const auto mode = settings.choice("quantize", kModes)) translation.add("quantize", *mode);
}

/// optimizer: AdamW, or {class_path: torch.optim.AdamW, init_args: ...}.
void add_litgpt_optimizer(Settings& settings, Translation& translation) {
  const GivenSetting* setting = settings.find("optimizer");
  if (!setting) return;
  const YamlNode* path = setting->value.find("class_path");
  std::string name = path ? path->text : setting->value.text;
  name = name.substr(name.rfind('.') + 1);
  const std::string_view ours = torch_optimizer(name);
  if (ours.empty() || ours == "adafactor")
    return settings.fail(*setting, fmt::format("the optimizer {} is not modelled", name), "AdamW");
  translation.add("optimizer", ours);
}

/// TrainArgs.gradient_accumulation_iters of one device.
void add_batch(Settings& settings, Translation& translation) {
  const std::int64_t micro = settings.whole("train.micro_batch_size").value_or(1);
  const std::int64_t global = settings.whole("train.global_batch_size").value_or(16);
  translation.add("micro-batch-size", micro);
  if (micro > 0)
    translation.add("gradient-accumulation", std::max<std::int64_t>(1, global / micro));
  if (const auto length = settings.whole("train.max_seq_length"))
    translation.add("sequence-length", *length);
  else
    translation.remarks.warnings.emplace_back(
        "train.max_seq_length is not set: the longest sample decides; --sequence-length before the "
        "-- says how long");
}

Result<Translation> translate(const LaunchCommand& command, std::string_view program, bool lora) {
  std::string checkpoint;
  Result<Settings> settings = read(command, program, checkpoint);
  if (!settings) return tl::unexpected(settings.error());
  Translation translation = begin_translation(command, Translation::Command::train);
  translation.add("framework", "litgpt");
  translation.remarks.add(settings->check_names(data::litgpt_names()));
  if (checkpoint.empty()) checkpoint = settings->text("checkpoint_dir").value_or("");
  if (checkpoint.empty())
    return bad_input("no model is named", std::string(program),
                     fmt::format("{} microsoft/phi-1_5", program));
  constexpr std::string_view kFolder = "checkpoints/";
  translation.model =
      checkpoint.starts_with(kFolder) ? checkpoint.substr(kFolder.size()) : checkpoint;
  if (lora) add_litgpt_adapters(*settings, translation);
  add_precision(*settings, translation);
  add_litgpt_optimizer(*settings, translation);
  add_batch(*settings, translation);
  const std::int64_t devices =
      settings->whole("devices").value_or(1) * settings->whole("num_nodes").value_or(1);
  if (devices > 1) translation.add("gpus", devices);
  if (settings->failure()) return tl::unexpected(*settings->failure());
  return translation;
}

}  // namespace

Result<Translation> translate_litgpt_lora(const LaunchCommand& command) {
  return translate(command, "litgpt finetune_lora", true);
}

Result<Translation> translate_litgpt_full(const LaunchCommand& command) {
  return translate(command, "litgpt finetune_full", false);
}

}  // namespace memtape::launch
