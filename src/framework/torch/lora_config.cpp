// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/lora_config.h"

#include <algorithm>

#include "base/pattern.h"
#include "framework/torch/lora_targets.h"
#include "option/json_fields.h"

namespace memtape::torch {
namespace {

/// LoraFields that say how adapters start, scale or are named; megatron_core names a module that is
/// imported where there is a megatron_config (peft/tuners/lora/model.py, _create_and_replace).
constexpr std::string_view kPassedOver =
    "peft_type inference_mode base_model_name_or_path revision auto_mapping alpha_pattern "
    "runtime_config init_lora_weights fan_in_fan_out peft_version qalora_group_size megatron_core";

/// LoraFields that are modelled as long as they say nothing.
constexpr std::string_view kEmptyAlone =
    "layers_pattern megatron_config trainable_token_indices loftq_config eva_config corda_config "
    "use_qalora layer_replication target_parameters ensure_weight_tying lora_ga_config "
    "velora_config arrow_config alora_invocation_tokens monteclora_config use_bdlora kasa_config";

/// What the fields of a LoraConfig say, before they are taken together.
struct LoraFields : LoraRecipe {
  double alpha = 8.0;
  bool use_rslora = false;

  /// Whether an adapter's product is multiplied by 1: by lora_alpha / r, or over r's root.
  bool scales_by_one() const {
    const auto r = static_cast<double>(rank);
    return use_rslora ? alpha * alpha == r : alpha == r;
  }
};

std::int64_t read_rank(JsonReader& json) {
  const JsonNumber r = json.number();
  if (r.integer && *r.integer >= 1 && *r.integer < 1 << 20) return *r.integer;
  json.fail("r: a whole number of 1 or more");
  return 1;
}

/// A number of a layer, or a list of them.
void read_layers(JsonReader& json, LoraFields& lora) {
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
void read_rank_pattern(JsonReader& json, LoraFields& lora) {
  if (json.enter_object())
    while (const auto key = json.key()) {
      if (key->find_first_of("^$*+?()[]|\\") != std::string::npos)
        json.fail("rank_pattern: regular expressions are not modelled, give names");
      else
        lora.rank_pattern.emplace_back(*key, read_rank(json));
    }
}

void read_dropout(JsonReader& json, LoraFields& lora) {
  lora.dropout = json.number().real;
  if (!(lora.dropout >= 0.0 && lora.dropout <= 1.0))
    json.fail("lora_dropout: a number from 0 to 1");
}

/// A list of names, or one text: "all-linear", else a regular expression over whole names.
void read_targets(JsonReader& json, LoraFields& lora) {
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
void read_task_type(JsonReader& json, LoraFields& lora) {
  if (json.next() == JsonKind::null) return json.null();
  const std::string task = json.text();
  if (task == "SEQ_CLS" || task == "TOKEN_CLS") lora.task_heads = {"score", "classifier"};
  if (task == "QUESTION_ANS") lora.task_heads = {"qa_outputs"};
  lora.spares_task_heads = task == "SEQ_CLS";
}

void read_bias(JsonReader& json, LoraFields& lora) {
  const std::string which = json.text();
  if (which == "all")
    lora.trained_biases = LoraRecipe::Biases::all;
  else if (which == "lora_only")
    lora.trained_biases = LoraRecipe::Biases::lora_only;
  else if (which != "none")
    json.fail("bias: none, all or lora_only");
}

using option::JsonField;
using option::put_json;

constexpr auto kLoraFields = std::to_array<JsonField<LoraFields>>({
    {"r", [](JsonReader& json, LoraFields& lora) { lora.rank = read_rank(json); }},
    {"lora_alpha", put_json<&LoraFields::alpha>},
    {"use_rslora", put_json<&LoraFields::use_rslora>},
    {"target_modules", read_targets},
    {"lora_dropout", read_dropout},
    {"bias", read_bias},
    {"use_dora", put_json<&LoraFields::use_dora>},
    {"lora_bias", put_json<&LoraFields::lora_bias>},
    {"task_type", read_task_type},
    {"modules_to_save", put_json<&LoraFields::modules_to_save>},
    {"exclude_modules", put_json<&LoraFields::exclude_modules>},
    {"layers_to_transform", read_layers},
    {"rank_pattern", read_rank_pattern},
});

}  // namespace

Result<LoraRecipe> read_lora_config(const std::string& text) {
  LoraFields lora;
  lora.targets = {std::string(kDefaultLoraTargets)};
  const option::JsonSource source{"--peft", "LoraConfig", "a LoraConfig as JSON", kPassedOver,
                                  kEmptyAlone};
  if (const auto read = option::read_json_fields(text, source, kLoraFields, lora); !read)
    return tl::unexpected(read.error());
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
