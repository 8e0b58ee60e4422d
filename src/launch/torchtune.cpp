// SPDX-License-Identifier: Apache-2.0
// torchtune (0.6): `tune run [torchrun's flags] RECIPE --config cfg.yaml [key=value ...]`, of the
// full and LoRA recipes on one GPU and over fully_shard (training/_distributed.py, shard_model).
// Llama and Mistral on one GPU are torchtune's own modules (src/framework/torchtune); for the rest
// memtape answers with transformers' of the same shape in the plain loop, and says so.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/yaml_pair.h"
#include "launch/programs.h"
#include "launch/reading.h"
#include "launch/words.h"

namespace memtape::launch {
namespace {

/// Builders whose decoders are modelled as torchtune's own.
constexpr auto kOwnModels = std::to_array<std::string_view>({"llama", "mistral", "smollm"});

/// key.key=value after the configuration (OmegaConf's command line); ~key deletes.
Result<void> override_with(const std::string& word, YamlNode& config) {
  Result<YamlNode> value = read_yaml_pair(word, "tune run", "key=value");
  if (!value) return tl::unexpected(value.error());
  std::string key = value->key;
  if (const YamlNode* part = config.find(key); part && part->find("_component_"))
    if (value->kind == YamlNode::Kind::scalar) key += "._component_";
  config.set_at(key, *std::move(value));
  return {};
}

/// torchtune.models.llama3_1.lora_llama3_1_8b: its last part builds the model.
void add_model_of_builder(Reading& reading, std::string name) {
  Settings& settings = reading.settings;
  name.erase(0, name.rfind('.') + 1);
  if (name.empty())
    return settings.fail(
        bad_input("no model is named", "tune run", "model._component_: torchtune.models...."));
  if (name.starts_with("qlora_"))
    return settings.fail(unsupported("torchao's NF4 weights are not modelled",
                                     settings.find("model")->where, "a lora_ builder"));
  if (name.starts_with("lora_")) name.erase(0, 5);
  reading.translation.model = meaning_of(name, data::torchtune_builders());
  if (reading.translation.model.empty())
    settings.fail(unsupported(fmt::format("what {} builds is not known", name),
                              settings.find("model")->where,
                              suggestion(name, words_of(data::torchtune_builders()))));
}

void add_lora_modules(Reading& reading) {
  Settings& settings = reading.settings;
  std::vector<std::string> targets = settings.words("model.lora_attn_modules");
  std::ranges::replace(targets, std::string("output_proj"), std::string("o_proj"));
  if (settings.on("model.apply_lora_to_mlp"))
    targets.insert(targets.end(), {"gate_proj", "up_proj", "down_proj"});
  if (settings.on("model.apply_lora_to_output")) targets.emplace_back("lm_head");
  reading.add_options("lora");
  reading.translation.add("lora-targets", fmt::format("{}", fmt::join(targets, ",")));
}

/// A class of torch.optim, or one that only torchtune's own modules are modelled with.
void add_torchtune_optimizer(Reading& reading, JsonObject* own) {
  const std::string path = reading.settings.text("optimizer._component_").value_or("");
  const std::string_view ours =
      meaning_of(path.substr(path.rfind('.') + 1), data::torch_optimizers());
  if (reading.settings.on("optimizer.fused")) reading.translation.add("optimizer-impl", "fused");
  if (path.starts_with("torch.optim.") && !ours.empty())
    reading.translation.add("optimizer", ours);
  else if (own)
    own->add("optimizer", path);
  else
    reading.settings.fail(unsupported(fmt::format("the optimizer {} is not modelled", path),
                                      "tune run", "torch.optim.AdamW"));
}

struct TorchtuneWords {
  std::string recipe, config;
  std::vector<std::string> overrides;
};

Result<TorchtuneWords> read_recipe(const LaunchCommand& command) {
  TorchtuneWords words;
  for (std::size_t i = 0; i < command.arguments.size(); ++i) {
    const std::string& word = command.arguments[i];
    if (word == "--config" && i + 1 < command.arguments.size())
      words.config = command.arguments[++i];
    else if (word.starts_with("--config="))
      words.config = word.substr(std::string_view("--config=").size());
    else if (word.starts_with("--"))
      return bad_input(fmt::format("unknown argument {}", word), "tune run",
                       "tune run RECIPE --config cfg.yaml key=value");
    else if (words.recipe.empty() && words.config.empty())
      words.recipe = word;
    else
      words.overrides.push_back(word);
  }
  if (words.recipe.empty() || words.config.empty())
    return bad_input("a recipe and its configuration are wanted", "tune run",
                     "tune run RECIPE --config cfg.yaml");
  const std::string_view recipe = meaning_of(words.recipe, data::torchtune_recipes());
  if (recipe == "modelled") return words;
  const std::string hint = suggestion(words.recipe, words_of(data::torchtune_recipes()));
  if (recipe.empty())
    return bad_input(fmt::format("unknown recipe {}", words.recipe), "tune run", hint);
  return unsupported(fmt::format("the recipe {} is not modelled", words.recipe), "tune run",
                     "full_finetune_single_device");
}

/// shard_model: layer by layer, and the root, which is not resharded after its forward, of a model
/// that is made without data (setup_model of recipes/full_finetune_distributed.py).
void add_torchtune_sharding(Reading& reading) {
  Settings& settings = reading.settings;
  const std::int64_t replicas = settings.whole("data_parallel_replicate_dim").value_or(1),
                     gpus = reading.command.gpus().value_or(1);
  if (settings.on("optimizer_in_bwd"))
    settings.fail(*settings.find("optimizer_in_bwd"),
                  "optimizers that step in backward are not modelled over shards", "false");
  JsonObject strategy;
  strategy.add("cpu_offload", settings.on("fsdp_cpu_offload"));
  if (!settings.on("fsdp_reshard_after_forward", true))
    strategy.add("reshard_after_forward", false);
  if (replicas > 1) strategy.add_json("mesh", fmt::format("[{}, {}]", replicas, gpus / replicas));
  reading.translation.add("strategy", strategy.text());
  reading.translation.add("init-device", settings.on("fsdp_cpu_offload") ? "cpu" : "meta");
}

/// transformers' model in the place of torchtune's.
void add_plain_program(Reading& reading, const TorchtuneWords& words) {
  Settings& settings = reading.settings;
  add_torchtune_optimizer(reading, nullptr);
  reading.translation.add("framework", words.recipe.ends_with("_distributed") ? "fsdp2" : "torch");
  if (words.recipe.ends_with("_distributed"))
    add_torchtune_sharding(reading);
  else if (settings.on("optimizer_in_bwd"))
    reading.translation.add("strategy", R"({"optimizer_in_backward": true})");
  reading.not_modelled(
      "torchtune's modules, compiled layers, offloading and chunked loss are its own: this is "
      "transformers' model of that shape in a plain loop");
}

Result<Settings> read_torchtune(const LaunchCommand& command, const WordStyle&) {
  const Result<TorchtuneWords> words = read_recipe(command);
  if (!words) return tl::unexpected(words.error());
  Result<std::string> text = command.files->read(words->config);
  const auto shipped = meaning_of(words->config, data::torchtune_configs());
  if (!text && shipped.empty())
    return bad_input("neither a file nor a configuration that torchtune ships", words->config,
                     suggestion(words->config, words_of(data::torchtune_configs())) +
                         "; tune cp writes those of other releases");
  if (!text) text = std::string(shipped);
  Result<YamlNode> mapping = read_yaml_mapping(*text, words->config);
  if (!mapping) return tl::unexpected(mapping.error());
  for (const std::string& word : words->overrides)
    if (const auto done = override_with(word, *mapping); !done) return tl::unexpected(done.error());
  Settings settings;
  settings.set_all(*mapping, words->config);
  return settings;
}

void say_torchtune(Reading& reading) {
  Settings& settings = reading.settings;
  const Result<TorchtuneWords> words = read_recipe(reading.command);
  for (const char* part : {"model", "tokenizer", "optimizer", "dataset", "loss"})
    settings.set_members(part, words->config);
  const std::string builder = settings.text("model._component_").value_or("");
  add_model_of_builder(reading, builder);
  const bool has_own = std::ranges::any_of(
      kOwnModels, [&](std::string_view name) { return builder.find(name) != std::string::npos; });
  if (words->recipe.starts_with("lora_")) add_lora_modules(reading);
  if (has_own && words->recipe.ends_with("_single_device")) {
    JsonObject strategy = reading.members("own");
    add_torchtune_optimizer(reading, &strategy);
    reading.translation.add("framework", "torchtune");
    reading.translation.add("strategy", strategy.text());
  } else {
    add_plain_program(reading, *words);
  }
  reading.add_options();
  if (settings.on("enable_activation_checkpointing"))
    reading.translation.add("gradient-checkpointing", "full");
  if (!reading.command.files->read(words->config))
    reading.warn(words->config + ": not here, taken to be the one that torchtune 0.6.1 ships");
  if (!settings.find("tokenizer.max_seq_len"))
    reading.warn(
        "tokenizer.max_seq_len is not set: samples decide; --sequence-length before the -- says "
        "how long");
}

}  // namespace

const SettingsProgram kTorchtune{.table = data::torchtune_settings,
                                 .say = say_torchtune,
                                 .read = read_torchtune,
                                 .begin = begin_training};

}  // namespace memtape::launch
