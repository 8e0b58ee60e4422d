// SPDX-License-Identifier: Apache-2.0
#include "workload/lora_config.h"

#include <array>

#include "base/pattern.h"
#include "base/json_reader.h"
#include "base/text.h"

namespace memtape {
namespace {

/// Fields that say how adapters start, scale or are named; megatron_core names a module that is
/// imported where there is a megatron_config (peft/tuners/lora/model.py, _create_and_replace).
constexpr auto kLoraNeutral = std::to_array<std::string_view>(
    {"peft_type", "inference_mode", "base_model_name_or_path", "revision", "auto_mapping",
     "alpha_pattern", "runtime_config", "init_lora_weights", "fan_in_fan_out", "peft_version",
     "qalora_group_size", "megatron_core"});

/// Fields that are modelled as long as they say nothing.
constexpr auto kEmpty = std::to_array<std::string_view>(
    {"layers_pattern", "megatron_config", "trainable_token_indices", "loftq_config", "eva_config",
     "corda_config", "use_qalora", "layer_replication", "target_parameters", "ensure_weight_tying",
     "lora_ga_config", "velora_config", "arrow_config", "alora_invocation_tokens",
     "monteclora_config", "use_bdlora", "kasa_config"});

constexpr auto kLoraModelled = std::to_array<std::string_view>(
    {"r", "lora_alpha", "use_rslora", "target_modules", "lora_dropout", "bias", "use_dora",
     "lora_bias", "task_type", "modules_to_save", "exclude_modules", "layers_to_transform",
     "rank_pattern"});

template <std::size_t N>
bool has(const std::array<std::string_view, N>& names, std::string_view name) {
  for (const std::string_view known : names)
    if (known == name) return true;
  return false;
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names(kLoraModelled.begin(), kLoraModelled.end());
  names.insert(names.end(), kEmpty.begin(), kEmpty.end());
  names.insert(names.end(), kLoraNeutral.begin(), kLoraNeutral.end());
  return names;
}

std::int64_t read_rank(JsonReader& json) {
  const JsonNumber r = json.number();
  if (r.integer && *r.integer >= 1 && *r.integer < 1 << 20) return *r.integer;
  json.fail("r: a whole number of 1 or more");
  return 1;
}

/// A list of names; null is none.
void read_names(JsonReader& json, std::vector<std::string>& names) {
  if (json.next() == JsonKind::null) return json.null();
  if (json.enter_array())
    while (json.item()) names.push_back(json.text());
}

/// A number of a layer, or a list of them.
void read_layers(JsonReader& json, LoraRecipe& lora) {
  const auto read = [&] {
    const JsonNumber layer = json.number();
    if (!layer.integer || *layer.integer < 0) json.fail("layers_to_transform: numbers of layers");
    lora.layers_to_transform.push_back(layer.integer.value_or(0));
  };
  if (json.next() == JsonKind::null) return json.null();
  if (json.next() == JsonKind::number) return read();
  if (json.enter_array())
    while (json.item()) read();
}

/// {"name of a module": rank}
void read_rank_pattern(JsonReader& json, LoraRecipe& lora) {
  if (json.enter_object())
    while (const auto key = json.key()) {
      if (key->find_first_of("^$*+?()[]|\\") != std::string::npos)
        json.fail("rank_pattern: regular expressions are not modelled, give names");
      else
        lora.rank_pattern.emplace_back(*key, read_rank(json));
    }
}

void read_dropout(JsonReader& json, LoraRecipe& lora) {
  lora.dropout = json.number().real;
  if (!(lora.dropout >= 0.0 && lora.dropout <= 1.0))
    json.fail("lora_dropout: a number from 0 to 1");
}

/// TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING (peft 0.21, utils/constants.py).
struct DefaultTargets {
  std::string_view family;
  std::array<std::string_view, 4> names;
};
constexpr auto kDefaultTargets = std::to_array<DefaultTargets>({
    {"t5", {"q", "v"}},
    {"gpt2", {"c_attn"}},
    {"bloom", {"query_key_value"}},
    {"opt", {"q_proj", "v_proj"}},
    {"gptj", {"q_proj", "v_proj"}},
    {"gpt_neox", {"query_key_value"}},
    {"bert", {"query", "value"}},
    {"roberta", {"query", "value"}},
    {"llama", {"q_proj", "v_proj"}},
    {"llama4", {"q_proj", "v_proj"}},
    {"chatglm", {"query_key_value"}},
    {"mpt", {"Wqkv"}},
    {"falcon", {"query_key_value"}},
    {"mistral", {"q_proj", "v_proj"}},
    {"mixtral", {"q_proj", "v_proj"}},
    {"stablelm", {"q_proj", "v_proj"}},
    {"phi", {"q_proj", "v_proj", "fc1", "fc2"}},
    {"gemma", {"q_proj", "v_proj"}},
    {"gemma2", {"q_proj", "v_proj"}},
    {"gemma3_text", {"q_proj", "v_proj"}},
    {"qwen2", {"q_proj", "v_proj"}},
    {"qwen3", {"q_proj", "v_proj"}},
    {"nemotron_h", {"q_proj", "k_proj", "v_proj", "o_proj"}},
});

/// A list of names, or one text: "all-linear", else a regular expression over whole names.
void read_targets(JsonReader& json, LoraRecipe& lora) {
  if (json.next() == JsonKind::null) return json.null();
  if (json.next() == JsonKind::text) {
    const std::string text = json.text();
    lora.targets.clear();
    if (text == "all-linear")
      lora.targets = {text};
    else if (full_match(text, ""))
      lora.target_pattern = text;
    else
      json.fail("target_modules: a regular expression of literals, groups, classes and . * + ?");
    return;
  }
  lora.targets.clear();
  if (json.enter_array())
    while (json.item()) lora.targets.push_back(json.text());
}

/// The heads that PeftModelFor... of a task trains, too (peft 0.21, peft_model.py).
void read_task_type(JsonReader& json, LoraRecipe& lora) {
  if (json.next() == JsonKind::null) return json.null();
  const std::string task = json.text();
  if (task == "SEQ_CLS" || task == "TOKEN_CLS") lora.task_heads = {"score", "classifier"};
  if (task == "QUESTION_ANS") lora.task_heads = {"qa_outputs"};
  lora.spares_task_heads = task == "SEQ_CLS";
}

/// null, false, {} or []: as if it were not there.
bool says_nothing(JsonReader& json) {
  switch (json.next()) {
    case JsonKind::null: json.null(); return true;
    case JsonKind::boolean: return !json.boolean();
    case JsonKind::array: return json.enter_array() && !json.item();
    case JsonKind::object: return json.enter_object() && !json.key();
    default: json.skip(); return false;
  }
}

void read_bias(JsonReader& json, LoraRecipe& lora) {
  const std::string which = json.text();
  if (which == "all")
    lora.trained_biases = LoraRecipe::Biases::all;
  else if (which == "lora_only")
    lora.trained_biases = LoraRecipe::Biases::lora_only;
  else if (which != "none")
    json.fail("bias: none, all or lora_only");
}

/// What an adapter's product is multiplied by: lora_alpha / r, with use_rslora over its root.
struct Scaling {
  double alpha = 8.0;
  bool rank_stabilized = false;
  bool is_one(std::int64_t rank) const {
    const auto r = static_cast<double>(rank);
    return rank_stabilized ? alpha * alpha == r : alpha == r;
  }
};

bool read_scaling(const std::string& field, JsonReader& json, Scaling& scaling) {
  if (field == "lora_alpha")
    scaling.alpha = json.number().real;
  else if (field == "use_rslora")
    scaling.rank_stabilized = json.boolean();
  else
    return false;
  return true;
}

void read_field(const std::string& field, JsonReader& json, LoraRecipe& lora) {
  if (field == "r") {
    lora.rank = read_rank(json);
    return;
  }
  if (field == "use_dora") {
    lora.use_dora = json.boolean();
    return;
  }
  if (field == "lora_bias") {
    lora.lora_bias = json.boolean();
    return;
  }
  if (field == "modules_to_save") return read_names(json, lora.modules_to_save);
  if (field == "exclude_modules") return read_names(json, lora.exclude_modules);
  if (field == "layers_to_transform") return read_layers(json, lora);
  if (field == "rank_pattern") return read_rank_pattern(json, lora);
  if (field == "lora_dropout") return read_dropout(json, lora);
  if (field == "target_modules") return read_targets(json, lora);
  if (field == "bias") return read_bias(json, lora);
  if (has(kEmpty, field)) {
    if (!says_nothing(json)) json.fail(field + " is not modelled");
  } else if (has(kLoraNeutral, field)) {
    json.skip();
  } else {
    json.fail("LoraConfig has no " + field + " (" + suggestion(field, all_names()) + ")");
  }
}

}  // namespace

Result<void> set_lora_config(const NamedValue& option, TrainRecipe& recipe) {
  LoraRecipe lora;
  lora.targets = {std::string(kDefaultLoraTargets)};
  Scaling scaling;
  JsonReader json(option.second);
  if (json.enter_object())
    while (const auto field = json.key()) {
      if (*field == "task_type")
        read_task_type(json, lora);
      else if (!read_scaling(*field, json, scaling))
        read_field(*field, json, lora);
    }
  json.finish();
  lora.scales = !scaling.is_one(lora.rank);
  if (json.failed()) return bad_input(json.problem(), "--peft", "a LoraConfig as JSON");
  if (!lora.target_pattern.empty() && !lora.layers_to_transform.empty())
    return bad_input("peft takes no layers_to_transform with a regular expression", "--peft",
                     "numbers within target_modules");
  if (lora.targets.empty() && lora.target_pattern.empty())
    return bad_input("no target_modules", "--peft", "a list of module names, or \"all-linear\"");
  recipe.lora = std::move(lora);
  return {};
}

std::vector<std::string> default_lora_targets(std::string_view family) {
  std::vector<std::string> targets;
  for (const DefaultTargets& row : kDefaultTargets)
    if (row.family == family)
      for (const std::string_view name : row.names)
        if (!name.empty()) targets.emplace_back(name);
  return targets;
}

}  // namespace memtape
