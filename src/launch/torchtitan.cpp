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

#include "base/json_object.h"
#include "base/text.h"
#include "formats/toml.h"
#include "launch/programs.h"
#include "launch/setting_names.h"
#include "launch/setting_rows.h"
#include "launch/torchtitan_names.h"

namespace memtape::launch {
namespace {

/// What those say where nobody says anything.
constexpr auto kTitanDefaults =
    std::to_array<std::string_view>({"float32", "0.5", R"(["moe.router.gate"])"});
/// Whole sections that the step's memory does not hang on, and prefixes of names.
constexpr auto kNeutralSections = std::to_array<std::string_view>(
    {"job", "profiling", "metrics", "lr_scheduler", "checkpoint", "comm", "memory_estimation",
     "fault_tolerance", "validation", "debug", "float8", "mx", "quantize", "experimental"});
/// Flavors that are models of nobody else.
struct DebugModel {
  std::string_view model, flavor;
  const char* config;
};
constexpr auto kDebugModels = std::to_array<DebugModel>(
    {{"llama3", "debugmodel",
      R"({"model_type": "llama", "hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 16,)"
      R"( "num_key_value_heads": 16, "intermediate_size": 768, "vocab_size": 2048})"},
     {"qwen3", "debugmodel_moe",
      R"({"model_type": "qwen3_moe", "hidden_size": 256, "num_hidden_layers": 8, "num_attention_heads": 16,)"
      R"( "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 3072, "vocab_size": 2048,)"
      R"( "num_experts": 64, "num_experts_per_tok": 8, "moe_intermediate_size": 768, "norm_topk_prob": true})"},
     {"llama4", "debugmodel",
      R"({"model_type": "llama4_text", "hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 16,)"
      R"( "num_key_value_heads": 16, "head_dim": 16, "intermediate_size": 512, "intermediate_size_mlp": 768,)"
      R"( "vocab_size": 2048, "num_local_experts": 8, "num_experts_per_tok": 1, "interleave_moe_layer_step": 2})"},
     {"deepseek_v3", "debugmodel",
      R"({"model_type": "deepseek_v2", "hidden_size": 256, "num_hidden_layers": 6, "num_attention_heads": 16,)"
      R"( "intermediate_size": 1024, "vocab_size": 2048, "first_k_dense_replace": 1, "n_routed_experts": 8,)"
      R"( "n_shared_experts": 2, "num_experts_per_tok": 3, "moe_intermediate_size": 256, "q_lora_rank": null,)"
      R"( "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128})"}});

/// A name that says how old a checkout can be: the last day it was there, or the first.
struct Dated {
  std::string_view name, day;
};
constexpr auto kUntil =
    std::to_array<Dated>({{"training.data_parallel_degree", "2024-09-10"},
                          {"optimizer.fused", "2025-02-27"},
                          {"training.warmup_steps", "2025-02-27"},
                          {"training.data_parallel_shard_degree", "2025-03-17"},
                          {"training.tensor_parallel_degree", "2025-03-17"},
                          {"experimental.context_parallel_degree", "2025-03-17"},
                          {"model.norm_type", "2025-04-16"},
                          {"training.batch_size", "2025-06-04"},
                          {"training.compile", "2025-08-19"}});

class TitanCommand {
 public:
  explicit TitanCommand(const LaunchCommand& command) : command_(command) {}

  Result<void> read() {
    std::string file;
    if (const std::string* named = command_.variable("CONFIG_FILE")) file = *named;
    std::vector<GivenSetting> words;
    if (const Result<void> done = read_words(words, file); !done) return done;
    if (file.empty())
      return bad_input("no configuration is named", command_.path,
                       "--job.config_file FILE.toml, or CONFIG_FILE for run_train.sh");
    const Result<std::string> text = command_.files->read(file);
    if (!text) return tl::unexpected(text.error());
    const Result<YamlNode> document = read_toml(*text, file);
    if (!document) return tl::unexpected(document.error());
    flatten(*document, "", file);
    for (GivenSetting& word : words) settings.set(std::move(word));
    return check_names();
  }

  Settings settings;
  Remarks remarks;

 private:
  /// --section.key value, --section.key=value, or a switch.
  Result<void> read_words(std::vector<GivenSetting>& words, std::string& file) const {
    const std::vector<std::string>& arguments = command_.arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& word = arguments[i];
      if (!word.starts_with("--"))
        return bad_input(fmt::format("unexpected word {}", word), command_.path,
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
      if (name == "job.config_file") file = value;
      words.push_back({.name = name, .value = value_of(name, value), .where = "--" + name});
    }
    return {};
  }

  /// Lists come with commas between.
  static YamlNode value_of(const std::string& name, const std::string& value) {
    YamlNode node{.kind = YamlNode::Kind::scalar, .key = name, .text = value, .children = {}};
    if (name != "compile.components" && name != "model.converters") return node;
    node.kind = YamlNode::Kind::sequence;
    node.text.clear();
    for (std::size_t at = 0; at <= value.size();) {
      const std::size_t comma = std::min(value.find(',', at), value.size());
      node.children.push_back({.kind = YamlNode::Kind::scalar,
                               .key = {},
                               .text = value.substr(at, comma - at),
                               .children = {}});
      at = comma + 1;
    }
    return node;
  }

  void flatten(const YamlNode& table, const std::string& prefix, const std::string& file) {
    for (const YamlNode& member : table.children) {
      const std::string name = prefix + member.key;
      if (member.kind == YamlNode::Kind::mapping)
        flatten(member, name + ".", file);
      else
        settings.set({.name = name,
                      .value = member,
                      .where = fmt::format("{}: {}", place_in(file, member.line), name)});
    }
  }

  static bool has(std::span<const std::string_view> names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  }

  Result<void> check_names() {
    const KnownNames known = data::torchtitan_names();
    for (const GivenSetting& setting : settings.all()) {
      const std::string section = setting.name.substr(0, setting.name.find('.'));
      if (has(known.modelled, setting.name) || has(known.neutral, setting.name)) continue;
      if (has(known.not_modelled, setting.name)) {
        if (setting.says_something() && !has(kTitanDefaults, option_text(setting.value)))
          remarks.not_modelled.push_back(
              fmt::format("{}: what it does is not modelled", setting.where));
        continue;
      }
      if (has(kNeutralSections, section)) continue;
      return bad_input(fmt::format("torchtitan has no {}", setting.name), setting.where,
                       suggestion(setting.name, known.all()));
    }
    return {};
  }

  const LaunchCommand& command_;
};

/// The day of the newest checkout that has all these names.
std::string newest_day(const Settings& settings) {
  std::string_view day = "2025-10-31";
  for (const Dated& dated : kUntil)
    if (settings.find(dated.name)) day = std::min(day, dated.day);
  return std::string(day);
}

/// One value by the key it has in whichever section was its home.
const GivenSetting* in_sections(const Settings& settings, std::string_view key) {
  for (const char* section : {"parallelism", "training", "experimental"})
    if (const GivenSetting* found = settings.find(fmt::format("{}.{}", section, key))) return found;
  return nullptr;
}

std::int64_t degree(Settings& settings, std::string_view key, std::int64_t otherwise) {
  const GivenSetting* const found = in_sections(settings, key);
  return found ? settings.whole(found->name).value_or(otherwise) : otherwise;
}

Result<void> add_model(Settings& settings, Translation& translation) {
  const std::string model = settings.text("model.name").value_or("llama3"),
                    flavor = settings.text("model.flavor").value_or("debugmodel");
  for (const DebugModel& known : kDebugModels)
    if (known.model == model && known.flavor == flavor) {
      translation.config = known.config;
      return {};
    }
  std::vector<std::string_view> flavors, models;
  for (const TitanFlavor& known : torchtitan_flavors()) {
    if (known.model == model && known.flavor == flavor) translation.model = known.id;
    if (known.model == model) flavors.push_back(known.flavor);
    if (models.empty() || models.back() != known.model) models.push_back(known.model);
  }
  if (model == "deepseek_v3" && !translation.model.empty())
    translation.remarks.not_modelled.emplace_back(
        "deepseek_v3's flavors mask documents by flex attention, which is counted as the memory "
        "efficient kernel");
  if (!translation.model.empty()) return {};
  const bool knows_model = !flavors.empty();
  const GivenSetting* const where = settings.find(knows_model ? "model.flavor" : "model.name");
  return unsupported(fmt::format("torchtitan's {} {} is not modelled", model, flavor),
                     where ? where->where : std::string("model.name"),
                     knows_model ? suggestion(flavor, flavors) : suggestion(model, models));
}

/// How many GPUs there are, and the sizes of the mesh.
void add_mesh(Settings& settings, const LaunchCommand& command, Translation& translation) {
  const std::int64_t tp = degree(settings, "tensor_parallel_degree", 1),
                     pp = degree(settings, "pipeline_parallel_degree", 1),
                     cp = degree(settings, "context_parallel_degree", 1),
                     replicate = degree(settings, "data_parallel_replicate_degree", 1),
                     shard = degree(settings, "data_parallel_shard_degree",
                                    degree(settings, "data_parallel_degree", -1));
  for (const TitanSize& size : torchtitan_sizes())
    if (const std::int64_t n = degree(settings, size.key, 1); n > 1)
      translation.add(size.option, n);
  if (shard > 0) translation.add("dp", shard * replicate);
  if (!command.gpus() && shard > 0) translation.add("gpus", shard * replicate * tp * pp * cp);
  const std::int64_t gpus = command.gpus().value_or(shard * replicate * tp * pp * cp);
  const std::int64_t batch = settings.whole("training.local_batch_size")
                                 .value_or(settings.whole("training.batch_size").value_or(8));
  translation.add("micro-batch-size", batch);
  const std::int64_t global = settings.whole("training.global_batch_size").value_or(-1);
  const std::int64_t ranks = std::max<std::int64_t>(1, tp * pp * cp);
  const std::int64_t at_once = batch * std::max<std::int64_t>(1, gpus / ranks);
  if (global < 1 || at_once < 1) return;
  if (global % at_once != 0)
    settings.fail(*settings.find("training.global_batch_size"),
                  fmt::format("{} is no multiple of local batches times data parallel GPUs, {}",
                              global, at_once),
                  fmt::format("a multiple of {}", at_once));
  if (global > at_once) translation.add("gradient-accumulation", global / at_once);
}

void add_titan_checkpointing(Settings& settings, Translation& translation) {
  constexpr auto kModes = std::to_array<std::string_view>({"none", "selective", "full"});
  translation.add("gradient-checkpointing",
                  settings.choice("activation_checkpoint.mode", kModes).value_or("selective"));
}

void add_titan_optimizer(Settings& settings, Translation& translation) {
  constexpr auto kNames = std::to_array<Word>({{"AdamW", "adamw"}, {"Adam", "adam"}});
  translation.add("optimizer", in_our_words("optimizer.name", kNames, settings).value_or("adamw"));
  constexpr auto kForms = std::to_array<std::string_view>({"for-loop", "foreach", "fused"});
  if (const auto form = settings.choice("optimizer.implementation", kForms))
    translation.add("optimizer-impl", *form);
  else if (settings.find("optimizer.fused"))
    translation.add("optimizer-impl", settings.on("optimizer.fused") ? "fused" : "foreach");
  if (const auto norm = settings.number("training.max_norm"))
    translation.add("max-grad-norm", *norm);
}

const GivenSetting* find_member(const Settings& settings, const TitanMember& member) {
  if (member.section == "parallelism") return in_sections(settings, member.key);
  return settings.find(fmt::format("{}.{}", member.section, member.key));
}

/// What memtape's --strategy takes by torchtitan's own names.
std::string strategy_of(Settings& settings) {
  JsonObject strategy;
  strategy.add("version", newest_day(settings));
  const std::string mode = settings.text("activation_checkpoint.mode").value_or("selective");
  if (mode == "selective" && !settings.find("activation_checkpoint.selective_ac_option"))
    strategy.add("selective_ac_option", "2");  // ActivationCheckpoint's default
  for (const TitanMember& member : torchtitan_members()) {
    const GivenSetting* const setting = find_member(settings, member);
    const bool is_moot =
        member.key == "data_parallel_replicate_degree" && degree(settings, member.key, 1) <= 1;
    if (!setting || is_moot) continue;
    const SettingRow row{setting->name, member.key, member.kind};
    add_members({&row, 1}, settings, strategy);
  }
  if (settings.on("training.compile") || settings.on("compile.enable")) {
    strategy.add("compile", true);
    if (settings.find("compile.components"))
      strategy.add("components", settings.words("compile.components"));
  }
  return strategy.text();
}

/// float8 is a converter of linear layers.
void warn_of_float8(Settings& settings, Translation& translation) {
  const std::vector<std::string> converters = settings.words("model.converters");
  const bool converts = std::ranges::any_of(
      converters, [](const std::string& name) { return name.find("float8") != std::string::npos; });
  if (!converts && !settings.on("float8.enable_float8_linear")) return;
  translation.remarks.not_modelled.emplace_back(
      settings.on("training.compile") || settings.on("compile.enable")
          ? "float8 linear layers are counted as bfloat16: compiled, their casts are fused into "
            "their neighbours, and what is saved for backward stays bfloat16"
          : "float8 linear layers are counted as bfloat16; without compile each keeps casts and "
            "scales of its own, which take a great deal more");
}

}  // namespace

Result<Translation> translate_torchtitan(const LaunchCommand& command) {
  TitanCommand titan(command);
  if (const Result<void> done = titan.read(); !done) return tl::unexpected(done.error());
  Settings& settings = titan.settings;
  Translation translation = begin_translation(command, Translation::Command::train);
  translation.remarks.add(std::move(titan.remarks));
  const bool is_script = command.program.ends_with(".sh");
  if (is_script && !command.gpus()) {
    const std::string* const gpus = command.variable("NGPU");
    translation.add("gpus", gpus ? *gpus : "8");
  }
  if (is_script)
    translation.environment.emplace_back("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
  translation.add("framework", "torchtitan");
  if (const Result<void> done = add_model(settings, translation); !done)
    return tl::unexpected(done.error());
  add_mesh(settings, command, translation);
  translation.add("sequence-length", settings.whole("training.seq_len").value_or(2048));
  add_titan_checkpointing(settings, translation);
  add_titan_optimizer(settings, translation);
  translation.add("strategy", strategy_of(settings));
  warn_of_float8(settings, translation);
  if (settings.failure()) return tl::unexpected(*settings.failure());
  return translation;
}

}  // namespace memtape::launch
