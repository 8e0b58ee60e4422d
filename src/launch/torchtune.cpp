// SPDX-License-Identifier: Apache-2.0
// torchtune (0.6): `tune run [torchrun's flags] RECIPE --config cfg.yaml [key=value ...]`, of the
// full and LoRA recipes on one GPU and over fully_shard (training/_distributed.py, shard_model).
// Its models are its own modules; memtape answers for transformers' of the same shape in the plain
// loop, and says so.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/json_object.h"
#include "base/text.h"
#include "launch/programs.h"
#include "launch/setting_names.h"
#include "launch/setting_rows.h"

namespace memtape::launch {
namespace {

constexpr auto kRecipes =
    std::to_array<std::string_view>({"full_finetune_single_device", "lora_finetune_single_device",
                                     "full_finetune_distributed", "lora_finetune_distributed"});
constexpr auto kOtherRecipes = std::to_array<std::string_view>(
    {"lora_dpo_single_device", "lora_dpo_distributed", "full_dpo_distributed",
     "ppo_full_finetune_single_device", "qat_single_device", "qat_distributed",
     "qat_lora_finetune_distributed", "knowledge_distillation_single_device",
     "knowledge_distillation_distributed", "eleuther_eval", "generate", "quantize"});

/// Builders of torchtune.models, without lora_ or qlora_ before them, and what they build.
struct Builder {
  std::string_view name, model;
};
constexpr auto kBuilders = std::to_array<Builder>({
    {"llama2_7b", "meta-llama/Llama-2-7b-hf"},
    {"llama2_13b", "meta-llama/Llama-2-13b-hf"},
    {"llama2_70b", "meta-llama/Llama-2-70b-hf"},
    {"code_llama2_7b", "codellama/CodeLlama-7b-hf"},
    {"llama3_8b", "meta-llama/Meta-Llama-3-8B-Instruct"},
    {"llama3_70b", "meta-llama/Meta-Llama-3-70B"},
    {"llama3_1_8b", "meta-llama/Llama-3.1-8B"},
    {"llama3_1_70b", "meta-llama/Llama-3.1-70B"},
    {"llama3_1_405b", "meta-llama/Llama-3.1-405B"},
    {"llama3_2_1b", "meta-llama/Llama-3.2-1B"},
    {"llama3_2_3b", "meta-llama/Llama-3.2-3B"},
    {"llama3_3_70b", "meta-llama/Llama-3.3-70B-Instruct"},
    {"mistral_7b", "mistralai/Mistral-7B-v0.1"},
    {"smollm2_135m", "HuggingFaceTB/SmolLM2-135M"},
    {"smollm2_360m", "HuggingFaceTB/SmolLM2-360M"},
    {"gemma_2b", "google/gemma-2b"},
    {"gemma_7b", "google/gemma-7b"},
    {"gemma2_2b", "google/gemma-2-2b"},
    {"gemma2_9b", "google/gemma-2-9b"},
    {"gemma2_27b", "google/gemma-2-27b"},
    {"phi4_14b", "microsoft/phi-4"},
    {"qwen2_0_5b", "Qwen/Qwen2-0.5B-Instruct"},
    {"qwen2_1_5b", "Qwen/Qwen2-1.5B-Instruct"},
    {"qwen2_7b", "Qwen/Qwen2-7B-Instruct"},
    {"qwen2_5_0_5b", "Qwen/Qwen2.5-0.5B"},
    {"qwen2_5_1_5b_base", "Qwen/Qwen2.5-1.5B"},
    {"qwen2_5_1_5b_instruct", "Qwen/Qwen2.5-1.5B"},
    {"qwen2_5_3b", "Qwen/Qwen2.5-3B"},
    {"qwen2_5_7b_base", "Qwen/Qwen2.5-7B"},
    {"qwen2_5_7b_instruct", "Qwen/Qwen2.5-7B"},
    {"qwen2_5_14b_base", "Qwen/Qwen2.5-14B"},
    {"qwen2_5_14b_instruct", "Qwen/Qwen2.5-14B"},
    {"qwen2_5_32b_base", "Qwen/Qwen2.5-32B"},
    {"qwen2_5_32b_instruct", "Qwen/Qwen2.5-32B"},
    {"qwen2_5_72b_base", "Qwen/Qwen2.5-72B"},
    {"qwen2_5_72b_instruct", "Qwen/Qwen2.5-72B"},
    {"qwen3_0_6b_base", "Qwen/Qwen3-0.6B"},
    {"qwen3_0_6b_instruct", "Qwen/Qwen3-0.6B"},
    {"qwen3_1_7b_base", "Qwen/Qwen3-1.7B"},
    {"qwen3_1_7b_instruct", "Qwen/Qwen3-1.7B"},
    {"qwen3_4b_base", "Qwen/Qwen3-4B"},
    {"qwen3_4b_instruct", "Qwen/Qwen3-4B"},
    {"qwen3_8b_base", "Qwen/Qwen3-8B"},
    {"qwen3_8b_instruct", "Qwen/Qwen3-8B"},
    {"qwen3_14b_base", "Qwen/Qwen3-14B"},
    {"qwen3_14b_instruct", "Qwen/Qwen3-14B"},
    {"qwen3_32b", "Qwen/Qwen3-32B"},
});

/// key.key=value after the configuration (OmegaConf's command line); ~key deletes.
Result<void> override_with(const std::string& word, YamlNode& config) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos)
    return bad_input(fmt::format("unexpected word {}", word), "tune run", "key=value");
  Result<YamlNode> value = read_yaml_mapping("v: " + word.substr(equals + 1), word);
  if (!value) return tl::unexpected(value.error());
  YamlNode* node = &config;
  const std::string path = word.substr(0, equals);
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t dot = std::min(path.find('.', at), path.size());
    const std::string key = path.substr(at, dot - at);
    const auto found = std::ranges::find(node->children, key, &YamlNode::key);
    if (found != node->children.end()) {
      node = &*found;
    } else {
      if (node->kind != YamlNode::Kind::mapping)
        *node =
            YamlNode{.kind = YamlNode::Kind::mapping, .key = node->key, .text = {}, .children = {}};
      node->children.push_back({.key = key, .text = {}, .children = {}});
      node = &node->children.back();
    }
    at = dot + 1;
  }
  const std::string key = node->key;
  *node = std::move(value->children.front());
  node->key = key;
  return {};
}

/// model: {_component_: torchtune.models.llama3_1.lora_llama3_1_8b, ...}: the last part.
std::string component_of(const Settings& settings, std::string_view name) {
  const GivenSetting* setting = settings.find(name);
  const YamlNode* component = setting ? setting->value.find("_component_") : nullptr;
  return component ? component->text.substr(component->text.rfind('.') + 1) : std::string();
}

/// The members of a nested mapping as settings of their own.
Settings members_of(const Settings& settings, std::string_view name, std::string_view file) {
  Settings members;
  if (const GivenSetting* setting = settings.find(name)) members.set_all(setting->value, file);
  return members;
}

Result<void> add_model_of_builder(const Settings& settings, Translation& translation) {
  std::string name = component_of(settings, "model");
  if (name.empty())
    return bad_input("no model is named", "tune run", "model._component_: torchtune.models....");
  if (name.starts_with("q"))
    if (name.starts_with("qlora_"))
      return unsupported("torchao's NF4 weights are not modelled", settings.find("model")->where,
                         "a lora_ builder");
  if (name.starts_with("lora_")) name.erase(0, 5);
  std::vector<std::string_view> names;
  for (const Builder& builder : kBuilders) {
    names.push_back(builder.name);
    if (builder.name == name) translation.model = builder.model;
  }
  if (translation.model.empty())
    return unsupported(fmt::format("what {} builds is not known", name),
                       settings.find("model")->where, suggestion(name, names));
  return {};
}

void add_lora_modules(Settings& model, Translation& translation) {
  std::vector<std::string> targets = model.words("lora_attn_modules");
  for (std::string& target : targets)
    if (target == "output_proj") target = "o_proj";
  if (model.on("apply_lora_to_mlp"))
    targets.insert(targets.end(), {"gate_proj", "up_proj", "down_proj"});
  if (model.on("apply_lora_to_output")) targets.emplace_back("lm_head");
  translation.add("lora-rank", model.whole("lora_rank").value_or(8));
  translation.add("lora-targets", fmt::format("{}", fmt::join(targets, ",")));
  translation.add("lora-dropout", model.number("lora_dropout").value_or(0.0));
  if (model.on("use_dora"))
    model.fail(*model.find("use_dora"), "DoRA is not modelled in the plain loop", "false");
}

Result<void> add_torchtune_optimizer(const Settings& settings, Settings& optimizer,
                                     Translation& translation) {
  const std::string name = component_of(settings, "optimizer");
  const std::string_view ours = torch_optimizer(name);
  const GivenSetting* where = settings.find("optimizer");
  if (ours.empty())
    return unsupported(fmt::format("the optimizer {} is not modelled", name),
                       where ? where->where : std::string("tune run"), "torch.optim.AdamW");
  translation.add("optimizer", ours);
  if (optimizer.on("fused")) translation.add("optimizer-impl", "fused");
  return {};
}

struct TorchtuneWords {
  std::string recipe, config;
  std::vector<std::string> overrides;
};

Result<TorchtuneWords> read_words(const LaunchCommand& command) {
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
  if (std::ranges::find(kRecipes, words.recipe) != kRecipes.end()) return words;
  if (std::ranges::find(kOtherRecipes, words.recipe) != kOtherRecipes.end())
    return unsupported(fmt::format("the recipe {} is not modelled", words.recipe), "tune run",
                       suggestion("", kRecipes));
  return bad_input(fmt::format("unknown recipe {}", words.recipe), "tune run",
                   suggestion(words.recipe, kRecipes));
}

/// shard_model: layer by layer, and the root, which is not resharded after its forward.
void add_sharding(Settings& settings, const LaunchCommand& command, Translation& translation) {
  const std::int64_t replicas = settings.whole("data_parallel_replicate_dim").value_or(1);
  const std::int64_t gpus = command.gpus().value_or(1);
  if (settings.on("optimizer_in_bwd"))
    settings.fail(*settings.find("optimizer_in_bwd"),
                  "optimizers that step in backward are not modelled over shards", "false");
  JsonObject strategy;
  strategy.add("cpu_offload", settings.on("fsdp_cpu_offload"));
  if (!settings.on("fsdp_reshard_after_forward", true))
    strategy.add("reshard_after_forward", false);
  if (replicas > 1 && gpus % replicas == 0)
    strategy.add_json("mesh", fmt::format("[{}, {}]", replicas, gpus / replicas));
  else if (replicas > 1)
    settings.fail(*settings.find("data_parallel_replicate_dim"),
                  fmt::format("{} GPUs do not divide by it", gpus), "a divisor of the GPUs");
  translation.add("framework", "fsdp2");
  translation.add("strategy", strategy.text());
}

/// A plain loop on one GPU, in which each parameter may have an optimizer of its own that steps in
/// backward (optimizer_in_bwd of full_finetune_single_device.py).
void add_single_device(Settings& settings, Translation& translation) {
  translation.add("framework", "torch");
  if (!settings.on("optimizer_in_bwd")) return;
  translation.add("strategy", R"({"optimizer_in_backward": true})");
  const GivenSetting& in_backward = *settings.find("optimizer_in_bwd");
  if (settings.says("clip_grad_norm"))
    settings.fail(in_backward, "torchtune does not clip then", "clip_grad_norm: null");
  if (settings.whole("gradient_accumulation_steps").value_or(1) > 1)
    settings.fail(in_backward, "torchtune does not accumulate gradients then",
                  "gradient_accumulation_steps: 1");
}

Result<Settings> read_config(const TorchtuneWords& words, const LaunchCommand& command) {
  const Result<std::string> text = command.files->read(words.config);
  if (!text) {
    Error error = text.error();
    error.hint = "tune cp writes the configurations that torchtune ships";
    return tl::unexpected(std::move(error));
  }
  Result<YamlNode> mapping = read_yaml_mapping(*text, words.config);
  if (!mapping) return tl::unexpected(mapping.error());
  for (const std::string& word : words.overrides)
    if (const auto done = override_with(word, *mapping); !done) return tl::unexpected(done.error());
  Settings settings;
  settings.set_all(*mapping, words.config);
  return settings;
}

void add_step(Settings& settings, Settings& tokenizer, Translation& translation) {
  constexpr auto kBatch =
      std::to_array<SettingRow>({{"batch_size", "micro-batch-size"},
                                 {"gradient_accumulation_steps", "gradient-accumulation"}});
  constexpr auto kLength = std::to_array<SettingRow>({{"max_seq_len", "sequence-length"}});
  add_options(kBatch, settings, translation);
  add_options(kLength, tokenizer, translation);
  constexpr auto kTypes = std::to_array<std::string_view>({"bf16", "fp32"});
  translation.add("precision", settings.choice("dtype", kTypes).value_or("bf16"));
  const std::optional<double> clip = settings.number("clip_grad_norm");
  translation.add("max-grad-norm", clip ? fmt::format("{}", *clip) : "none");
  if (settings.on("enable_activation_checkpointing"))
    translation.add("gradient-checkpointing", "full");
  translation.remarks.not_modelled.emplace_back(
      "torchtune's modules and chunked loss are its own: this is transformers' model of that shape "
      "in a plain loop");
  if (!tokenizer.find("max_seq_len"))
    translation.remarks.warnings.emplace_back(
        "tokenizer.max_seq_len is not set: samples decide; --sequence-length before the -- says "
        "how long");
}

}  // namespace

Result<Translation> translate_tune_run(const LaunchCommand& command) {
  const Result<TorchtuneWords> words = read_words(command);
  if (!words) return tl::unexpected(words.error());
  Result<Settings> settings = read_config(*words, command);
  if (!settings) return tl::unexpected(settings.error());
  Translation translation = begin_translation(command, Translation::Command::train);
  translation.remarks.add(settings->check_names(data::torchtune_names()));
  if (settings->failure()) return tl::unexpected(*settings->failure());
  if (words->recipe.ends_with("_distributed"))
    add_sharding(*settings, command, translation);
  else
    add_single_device(*settings, translation);
  Settings model = members_of(*settings, "model", words->config),
           tokenizer = members_of(*settings, "tokenizer", words->config),
           optimizer = members_of(*settings, "optimizer", words->config);
  if (const auto done = add_model_of_builder(*settings, translation); !done)
    return tl::unexpected(done.error());
  if (words->recipe.starts_with("lora_")) add_lora_modules(model, translation);
  if (const auto done = add_torchtune_optimizer(*settings, optimizer, translation); !done)
    return tl::unexpected(done.error());
  add_step(*settings, tokenizer, translation);
  for (const Settings* part : {&*settings, &model, &tokenizer, &optimizer})
    if (part->failure()) return tl::unexpected(*part->failure());
  return translation;
}

}  // namespace memtape::launch
