// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/lora_config.h"

#include <algorithm>

#include "base/pattern.h"
#include "framework/torch/lora_targets.h"
#include "model/config_fields.h"

namespace memtape::torch {
namespace {

/// LoraFields that say how adapters start, scale or are named; megatron_core names a module that is
/// imported where there is a megatron_config (peft/tuners/lora/model.py, _create_and_replace).
constexpr std::string_view kPassedOver =
    "inference_mode base_model_name_or_path revision auto_mapping alpha_pattern "
    "runtime_config init_lora_weights fan_in_fan_out peft_version qalora_group_size megatron_core";

/// LoraFields that are modelled as long as they say nothing.
constexpr std::string_view kSilent =
    "layers_pattern megatron_config trainable_token_indices loftq_config eva_config corda_config "
    "use_qalora layer_replication ensure_weight_tying lora_ga_config "
    "velora_config arrow_config alora_invocation_tokens monteclora_config use_bdlora kasa_config";

/// What the fields of a LoraConfig say, before they are taken together.
struct LoraFields : LoraRecipe {
  double alpha = 8.0;
  bool use_rslora = false, is_lora = true;

  /// Whether an adapter's product is multiplied by 1: by lora_alpha / r, or over r's root.
  bool scales_by_one() const {
    const auto r = static_cast<double>(rank);
    return use_rslora ? alpha * alpha == r : alpha == r;
  }
};

/// A number of a layer, or a list of them.
Result<void> read_layers(const Config& json, std::string_view name, LoraFields& lora) {
  if (json.is_null(name)) return {};
  lora.layers_to_transform =
      json.json(name).front() == '[' ? json.integers(name) : std::vector{json.integer(name)};
  if (std::ranges::any_of(lora.layers_to_transform, [](std::int64_t layer) { return layer < 0; }))
    json.fail(name, "must be numbers of layers");
  return {};
}

/// {"name of a module": rank}
Result<void> read_rank_pattern(const Config& json, std::string_view name, LoraFields& lora) {
  const Config ranks = json.object(name);
  for (const std::string& module : ranks.keys()) {
    if (module.find_first_of("^$*+?()[]|\\") != std::string::npos)
      json.fail(name, "regular expressions are not modelled, give names");
    else
      lora.rank_pattern.emplace_back(module, ranks.dimension(module));
  }
  return {};
}

Result<void> read_dropout(const Config& json, std::string_view name, LoraFields& lora) {
  lora.dropout = json.number(name);
  if (!(lora.dropout >= 0.0 && lora.dropout <= 1.0)) json.fail(name, "must be from 0 to 1");
  return {};
}

/// A list of names, or one text: "all-linear", else a regular expression over whole names.
Result<void> read_targets(const Config& json, std::string_view name, LoraFields& lora) {
  if (json.is_null(name)) return {};
  lora.targets.clear();
  if (json.json(name).front() != '"') {
    const Result<void> put = fields::put<&LoraFields::targets>(json, name, lora);
    lora.lists_linear = lora.targets.size() == 1 && lora.targets.front() == "all-linear";
    return put;
  }
  const std::string text = json.text(name);
  if (text == "all-linear")
    lora.targets = {text};
  else if (full_match(text, ""))
    lora.target_pattern = text;
  else
    json.fail(name, "must be a regular expression of literals, groups, classes and . * + ?");
  return {};
}

/// The heads that PeftModelFor... of a task trains, too (peft 0.21, peft_model.py).
Result<void> read_task_type(const Config& json, std::string_view name, LoraFields& lora) {
  const std::string task = json.optional_text(name).value_or("");
  if (task == "SEQ_CLS" || task == "TOKEN_CLS") lora.task_heads = {"score", "classifier"};
  if (task == "QUESTION_ANS") lora.task_heads = {"qa_outputs"};
  lora.spares_task_heads = task == "SEQ_CLS";
  return {};
}

constexpr auto kBiases = choices<LoraRecipe::Biases>(
    "no such kind of biases:", {{"none", LoraRecipe::Biases::none},
                                {"all", LoraRecipe::Biases::all},
                                {"lora_only", LoraRecipe::Biases::lora_only}});

/// The other kinds have fields of the same names.
constexpr auto kKinds = choices<bool>("no adapters that are modelled:", {{"LORA", true}});

/// peft/tuners/lora/config.py, LoraConfig.
constexpr auto kLoraFields = std::to_array<ConfigField<LoraFields>>({
    {"peft_type", fields::pick<&LoraFields::is_lora, kKinds>},
    {"r", fields::put_size<&LoraFields::rank>},
    {"lora_alpha", fields::put<&LoraFields::alpha>},
    {"use_rslora", fields::put<&LoraFields::use_rslora>},
    {"target_modules", read_targets},
    {"lora_dropout", read_dropout},
    {"bias", fields::pick<&LoraFields::trained_biases, kBiases>},
    {"use_dora", fields::put<&LoraFields::use_dora>},
    {"lora_bias", fields::put<&LoraFields::lora_bias>},
    {"task_type", read_task_type},
    {"modules_to_save", fields::put<&LoraFields::modules_to_save>},
    {"exclude_modules", fields::put<&LoraFields::exclude_modules>},
    {"target_parameters", fields::put<&LoraFields::target_parameters>},
    {"layers_to_transform", read_layers},
    {"rank_pattern", read_rank_pattern},
    {kSilent},
    {kPassedOver},
});

Result<void> read_fields_of(const std::string& text, LoraFields& lora) {
  const Result<Config> json = Config::parse(text, "--peft");
  if (!json) return tl::unexpected(json.error());
  if (Result<void> fine = read_fields(*json, "--peft", kLoraFields, lora); !fine) return fine;
  if (Result<void> fine = check_silent(*json, kSilent); !fine) return fine;
  return json->check();
}

}  // namespace

Result<LoraRecipe> read_lora_config(const std::string& text) {
  LoraFields lora;
  lora.targets = {std::string(kDefaultLoraTargets)};
  if (const auto read = read_fields_of(text, lora); !read) return tl::unexpected(read.error());
  lora.scales = !lora.scales_by_one();
  if (!lora.target_pattern.empty() && !lora.layers_to_transform.empty())
    return bad_input("peft takes no layers_to_transform with a regular expression", "--peft",
                     "numbers within target_modules");
  if (lora.targets.empty() && lora.target_pattern.empty())
    return bad_input("no target_modules", "--peft", "a list of module names, or \"all-linear\"");
  return LoraRecipe(std::move(lora));
}

Result<void> set_peft(const option::Said& said, TrainRecipe& recipe) {
  Result<LoraRecipe> lora = read_lora_config(std::string(said.text));
  if (!lora) return tl::unexpected(lora.error());
  recipe.lora = std::move(*lora);
  return {};
}

const TrainOption* peft_argument(std::string_view name) {
  static constexpr TrainOption kPeft{{"--peft", "JSON|FILE"}, set_peft};
  return name == kPeft.name() ? &kPeft : nullptr;
}

}  // namespace memtape::torch
