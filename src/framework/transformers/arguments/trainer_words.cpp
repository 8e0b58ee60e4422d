// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/arguments/trainer_words.h"

#include <algorithm>
#include <array>

#include "base/comma_list.h"
#include "base/json_object.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "framework/transformers/arguments/optim_arguments.h"
#include "framework/transformers/arguments/quantization_config.h"
#include "model/config.h"
#include "model/json_members.h"
#include "option/value.h"

namespace memtape::transformers {
namespace {

/// An option of the preset, and those beside which it is left out.
struct PresetPart {
  std::string_view option, value;
  std::array<std::string_view, 3> unless{};
};

/// peft's guide to quantization ("QLoRA-style training"): the BitsAndBytesConfig and the
/// LoraConfig; bitsandbytes' paged 8-bit AdamW; one sequence at a time, as artidoro/qlora's scripts
/// have it.
constexpr auto kQlora = std::to_array<PresetPart>({
    {"framework", "transformers", {"framework"}},
    {"quantization", kQloraQuantization, {"quantization", "quantize"}},
    {"peft",
     R"({"r": 16, "lora_alpha": 8, "target_modules": "all-linear", "lora_dropout": 0.05})",
     {"peft"}},
    {"optim", "paged_adamw_8bit", {"optim", "optimizer"}},
    {"gradient_checkpointing", "true", {"gradient_checkpointing", "gradient-checkpointing"}},
    {"bf16", "true", {"bf16", "fp16", "precision"}},
    {"per_device_train_batch_size", "1", {"per_device_train_batch_size", "micro-batch-size"}},
});

/// In place of --qlora what it stands for, less what is said beside it.
Result<NamedValues> with_presets(NamedValues options) {
  const auto asked = std::ranges::find(options, "qlora", &NamedValue::first);
  if (asked == options.end()) return options;
  const Result<bool> on = option::read_on_off("qlora", asked->second);
  if (!on) return tl::unexpected(on.error());
  options.erase(asked);
  if (!*on) return options;
  const std::string* framework = last_value(options, "framework");
  if (framework && *framework != "transformers")
    return bad_input("is a recipe of Trainer, peft and bitsandbytes", "--qlora",
                     *framework == "litgpt"
                         ? "litgpt has --quantize bnb.nf4-dq with --lora-rank"
                         : "--framework transformers, or leave the framework out");
  NamedValues all;
  for (const PresetPart& part : kQlora)
    if (std::ranges::none_of(part.unless, [&](auto name) { return last_value(options, name); }))
      all.emplace_back(part.option, part.value);
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

/// Moves adapters' options into the LoraConfig, which is made where there is none.
void take_adapters(NamedValues& options) {
  NamedValues members;
  if (const std::string* rank = last_value(options, "lora-rank")) members.emplace_back("r", *rank);
  if (const std::string* targets = last_value(options, "lora-targets"))
    members.emplace_back("target_modules", *targets == "all-linear"
                                               ? json_quoted(*targets)
                                               : json_list(split_at_commas(*targets)));
  if (const std::string* dropout = last_value(options, "lora-dropout"))
    members.emplace_back("lora_dropout", *dropout);
  if (members.empty()) return;
  std::erase_if(options, [](const NamedValue& o) { return o.first.starts_with("lora-"); });
  auto given = std::ranges::find(options, "peft", &NamedValue::first);
  if (given == options.end()) given = options.insert(given, {"peft", "{}"});
  given->second = with_members(given->second, members);
}

struct Packing {
  std::string_view name, config;
};
constexpr auto kPackings = std::to_array<Packing>(
    {{"nf4",
      R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16"})"},
     {"nf4-dq", kQloraQuantization},
     {"fp4",
      R"({"load_in_4bit": true, "bnb_4bit_quant_type": "fp4", "bnb_4bit_compute_dtype": "bfloat16"})"},
     {"fp4-dq",
      R"({"load_in_4bit": true, "bnb_4bit_quant_type": "fp4", "bnb_4bit_use_double_quant": true, "bnb_4bit_compute_dtype": "bfloat16"})"},
     {"int8", R"({"load_in_8bit": true})"}});

Result<void> take_packing(NamedValues& options) {
  const auto asked = std::ranges::find(options, "quantize", &NamedValue::first);
  if (asked == options.end()) return {};
  std::string_view name = asked->second;
  if (name.starts_with("bnb.")) name.remove_prefix(4);
  if (name == "none") {
    options.erase(asked);
    return {};
  }
  std::vector<std::string_view> known;
  for (const Packing& packing : kPackings) {
    known.push_back(packing.name);
    if (packing.name != name) continue;
    *asked = {"quantization", std::string(packing.config)};
    return {};
  }
  return unsupported("\"" + asked->second + "\" is not modelled", "--quantize",
                     suggestion(name, known));
}

/// An optimizer that only Trainer has.
void take_optimizer(NamedValues& options) {
  const auto asked = std::ranges::find(options, "optimizer", &NamedValue::first);
  if (asked == options.end()) return;
  if (const auto name = other_optim(asked->second)) *asked = {"optim", std::string(*name)};
}

}  // namespace

Result<NamedValues> in_trainer_words(NamedValues given) {
  Result<NamedValues> options = with_presets(std::move(given));
  if (!options) return options;
  const std::string* framework = last_value(*options, "framework");
  if (!framework || *framework != "transformers") return options;
  take_adapters(*options);
  if (const auto taken = take_packing(*options); !taken) return tl::unexpected(taken.error());
  take_optimizer(*options);
  return options;
}

}  // namespace memtape::transformers
