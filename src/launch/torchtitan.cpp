// SPDX-License-Identifier: Apache-2.0
// torchtitan while it was configured by toml (March 2024 to February 2026):
// `torchrun ... -m torchtitan.train --job.config_file llama3_8b.toml [--section.key value ...]`, or
// its script run_train.sh, which takes CONFIG_FILE and NGPU from the environment.
//
// Sections and names moved over time; those that a configuration uses tell how old its checkout can
// be at most, which decides what the trainer does.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "formats/toml.h"
#include "launch/programs.h"
#include "launch/reading.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// What those say where nobody says anything.
constexpr auto kTitanDefaults =
    std::to_array<std::string_view>({"float32", "0.5", R"(["moe.router.gate"])"});

/// --section.key value, --section.key=value, or a switch; lists come with commas between.
Result<Settings> read_titan_words(const LaunchCommand& command) {
  Settings settings;
  const std::vector<std::string>& arguments = command.arguments;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (!word.starts_with("--"))
      return bad_input(fmt::format("unexpected word {}", word), command.path,
                       "--section.key value");
    const std::size_t equals = word.find('=');
    std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(name, '-', '_');
    std::string value = "true";
    if (equals != std::string::npos)
      value = word.substr(equals + 1);
    else if (i + 1 < arguments.size() && !arguments[i + 1].starts_with("--"))
      value = arguments[++i];
    if (const std::size_t no = name.find(".no_"); no != std::string::npos && value == "true") {
      name.erase(no + 1, 3);
      value = "false";
    }
    YamlNode node = yaml_scalar(value);
    if (name == "compile.components" || name == "model.converters") {
      node.kind = YamlNode::Kind::sequence;
      for (std::string& part : split_at_commas(value))
        node.children.push_back(yaml_scalar(std::move(part)));
    }
    settings.set({.name = name, .value = std::move(node), .where = "--" + name});
  }
  return settings;
}

/// Since 0.3.0 configurations are Python functions, by model (models/*/config_registry.py).
bool names_function(const LaunchCommand& command, const Settings& words) {
  return words.find("module") || words.find("config") || command.variable("MODULE") ||
         command.variable("CONFIG");
}

Result<Settings> read_titan(const LaunchCommand& command, const WordStyle&) {
  Result<Settings> words = read_titan_words(command);
  if (!words) return words;
  if (names_function(command, *words))
    return unsupported(
        "torchtitan since 0.3.0, which --module and --config tell, is not modelled: it captures "
        "its steps as CUDA graphs and takes the loss in chunks",
        command.path,
        "its real memory, without a GPU: memtape run before the command; toml files of 0.2.2 are "
        "answered");
  const std::string* const named = command.variable("CONFIG_FILE");
  const std::string file = words->text("job.config_file").value_or(named ? *named : "");
  if (file.empty())
    return bad_input("no configuration is named", command.path,
                     "--job.config_file FILE.toml, or CONFIG_FILE for run_train.sh");
  const Result<std::string> text = command.files->read(file);
  if (!text) return tl::unexpected(text.error());
  const Result<YamlNode> document = read_toml(*text, file);
  if (!document) return tl::unexpected(document.error());
  Settings settings;
  settings.set_flat(*document, file);
  settings.set_all(*words);
  return settings;
}

void check_titan_names(Reading& reading) {
  const auto has = [](std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  const KnownNames known = data::torchtitan_settings().names;
  for (const GivenSetting& setting : reading.settings.all()) {
    const std::string section = setting.name.substr(0, setting.name.find('.'));
    if (has(known.not_modelled, setting.name)) {
      if (setting.says_something() && !has(kTitanDefaults, option_text(setting.value)))
        reading.not_modelled(fmt::format("{}: what it does is not modelled", setting.where));
    } else if (!has(known.modelled, setting.name) && !has(known.neutral, setting.name) &&
               !has(known.neutral, section)) {
      return reading.settings.fail(bad_input(fmt::format("torchtitan has no {}", setting.name),
                                             setting.where, suggestion(setting.name, known.all())));
    }
  }
}

/// The last day on which a checkout has all these names; nothing where those of releases have them.
std::string last_day(const Settings& settings) {
  std::string_view day;
  for (const Word& last : data::torchtitan_last_days())
    if (settings.find(last.theirs) && (day.empty() || last.ours < day)) day = last.ours;
  return std::string(day);
}

void add_titan_model(Reading& reading) {
  Settings& settings = reading.settings;
  const std::string model = settings.text("model.name").value_or("llama3"),
                    flavor = settings.text("model.flavor").value_or("debugmodel"),
                    name = fmt::format("{}/{}", model, flavor);
  reading.translation.config = meaning_of(name, data::torchtitan_debug_models());
  reading.translation.model = meaning_of(name, data::torchtitan_flavors());
  if (!reading.translation.config.empty()) return;
  if (!reading.translation.model.empty()) return;
  std::vector<std::string_view> flavors, models;
  for (const Word& known : data::torchtitan_flavors()) {
    const std::size_t slash = known.theirs.find('/');
    const std::string_view of = known.theirs.substr(0, slash);
    if (of == model) flavors.push_back(known.theirs.substr(slash + 1));
    if (models.empty() || models.back() != of) models.push_back(of);
  }
  const bool knows_model = !flavors.empty();
  const GivenSetting* const where = settings.find(knows_model ? "model.flavor" : "model.name");
  settings.fail(unsupported(fmt::format("torchtitan's {} {} is not modelled", model, flavor),
                            where ? where->where : std::string("model.name"),
                            knows_model ? suggestion(flavor, flavors) : suggestion(model, models)));
}

/// A size as a row of the group says it, wherever it was at home at the time.
std::int64_t size_of(Reading& reading, std::string_view group, std::string_view as,
                     std::int64_t otherwise) {
  for (const SettingRow& row : reading.rows())
    if (row.group == group && row.as == as && reading.settings.find(row.setting))
      return reading.settings.whole(row.setting).value_or(otherwise);
  return otherwise;
}

constexpr std::string_view kReplicas = "data_parallel_replicate_degree";

/// How many GPUs there are, the sizes of the mesh and the batch.
void add_mesh(Reading& reading) {
  Translation& translation = reading.translation;
  const std::int64_t replicate = size_of(reading, "strategy", kReplicas, 1),
                     shard = size_of(reading, "mesh", "shard", -1);
  std::int64_t ranks = 1;
  for (const char* option : {"tp", "pp", "cp", "ep", "etp"}) {
    const std::int64_t size = size_of(reading, "mesh", option, 1);
    if (size > 1) translation.add(option, size);
    if (!std::string_view(option).starts_with('e')) ranks *= size;
  }
  if (shard > 0) translation.add("dp", shard * replicate);
  const std::optional<std::int64_t> launched = reading.command.gpus();
  if (!launched && shard > 0) translation.add("gpus", shard * replicate * ranks);
  const std::int64_t gpus = launched.value_or(shard * replicate * ranks),
                     batch = size_of(reading, "batch", "micro-batch-size", 8),
                     global = reading.settings.whole("training.global_batch_size").value_or(-1),
                     at_once =
                         batch * std::max<std::int64_t>(1, gpus / std::max<std::int64_t>(1, ranks));
  translation.add("micro-batch-size", batch);
  if (global < 1 || at_once < 1) return;
  if (global % at_once != 0)
    reading.settings.fail(*reading.settings.find("training.global_batch_size"),
                          fmt::format("{} is no multiple of local batches times data parallel "
                                      "GPUs, {}",
                                      global, at_once),
                          fmt::format("a multiple of {}", at_once));
  if (global > at_once) translation.add("gradient-accumulation", global / at_once);
}

bool compiles(Settings& settings) {
  return settings.on("training.compile") || settings.on("compile.enable");
}

/// All but the smallest of deepseek_v3's flavors mask documents (models/deepseek_v3/__init__.py).
bool uses_flex(Reading& reading) {
  return reading.translation.config.empty() &&
         reading.settings.text("model.name").value_or("") == "deepseek_v3";
}

/// What memtape's --strategy takes by torchtitan's own names.
std::string strategy_of(Reading& reading) {
  Settings& settings = reading.settings;
  JsonObject strategy;
  if (const std::string day = last_day(settings); !day.empty()) strategy.add("version", day);
  const std::string mode = settings.text("activation_checkpoint.mode").value_or("selective");
  if (mode == "selective" && !settings.find("activation_checkpoint.selective_ac_option"))
    strategy.add("selective_ac_option", "2");  // ActivationCheckpoint's default
  for (const SaidRow& said : said_rows(reading.rows(), "strategy", settings))
    if (said.row->as != kReplicas || size_of(reading, "strategy", kReplicas, 1) > 1)
      said.add_to(strategy);
  if (uses_flex(reading)) strategy.add("use_flex_attn", true);
  if (settings.find("model.converters"))
    strategy.add("converters", settings.words("model.converters"));
  else if (settings.on("float8.enable_float8_linear"))
    strategy.add("converters", std::vector<std::string>{"float8"});
  if (compiles(settings)) {
    strategy.add("compile", true);
    if (settings.find("compile.components"))
      strategy.add("components", settings.words("compile.components"));
  }
  return strategy.text();
}

void say_titan(Reading& reading) {
  Settings& settings = reading.settings;
  Translation& translation = reading.translation;
  check_titan_names(reading);
  const bool is_script = reading.command.program.ends_with(".sh");
  if (is_script && !reading.command.gpus()) {
    const std::string* const gpus = reading.command.variable("NGPU");
    translation.add("gpus", gpus ? *gpus : "8");
  }
  if (is_script)
    translation.environment.emplace_back("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
  translation.add("framework", "torchtitan");
  add_titan_model(reading);
  add_mesh(reading);
  reading.add_options();
  if (!settings.find("optimizer.implementation") && settings.find("optimizer.fused"))
    translation.add("optimizer-impl", settings.on("optimizer.fused") ? "fused" : "foreach");
  translation.add("strategy", strategy_of(reading));
}

}  // namespace

const SettingsProgram kTorchtitan{.table = data::torchtitan_settings,
                                  .say = say_titan,
                                  .read = read_titan,
                                  .begin = begin_training,
                                  .checks_names = false};

}  // namespace memtape::launch
