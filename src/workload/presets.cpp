// SPDX-License-Identifier: Apache-2.0
#include "workload/presets.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "workload/typed_values.h"

namespace memtape {
namespace {

/// An option of the preset, and those beside which it is left out.
struct Part {
  std::string_view option, value;
  std::array<std::string_view, 3> unless{};
};

/// peft's guide to quantization ("QLoRA-style training"): the BitsAndBytesConfig and the
/// LoraConfig; bitsandbytes' paged 8-bit AdamW; one sequence at a time, as artidoro/qlora's scripts
/// have it.
constexpr auto kQlora = std::to_array<Part>({
    {"framework", "transformers", {"framework"}},
    {"quantization",
     R"({"load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true, )"
     R"("bnb_4bit_compute_dtype": "bfloat16"})",
     {"quantization", "quantize"}},
    {"peft",
     R"({"r": 16, "lora_alpha": 8, "target_modules": "all-linear", "lora_dropout": 0.05})",
     {"peft"}},
    {"optim", "paged_adamw_8bit", {"optim", "optimizer"}},
    {"gradient_checkpointing", "true", {"gradient_checkpointing", "gradient-checkpointing"}},
    {"bf16", "true", {"bf16", "fp16", "precision"}},
    {"per_device_train_batch_size", "1", {"per_device_train_batch_size", "micro-batch-size"}},
});

}  // namespace

Result<std::vector<NamedValue>> with_presets(std::vector<NamedValue> options) {
  const auto asked = std::ranges::find(options, "qlora", &NamedValue::first);
  if (asked == options.end()) return options;
  const Result<bool> on = boolean(*asked);
  if (!on) return tl::unexpected(on.error());
  options.erase(asked);
  if (!*on) return options;
  const auto framework = std::ranges::find(options, "framework", &NamedValue::first);
  if (framework != options.end() && framework->second != "transformers")
    return bad_input("is a recipe of Trainer, peft and bitsandbytes", "--qlora",
                     framework->second == "litgpt"
                         ? "litgpt has --quantize bnb.nf4-dq with --lora-rank"
                         : "--framework transformers, or leave the framework out");
  std::vector<NamedValue> all;
  for (const Part& part : kQlora) {
    const bool is_said = std::ranges::any_of(options, [&](const NamedValue& option) {
      return std::ranges::find(part.unless, option.first) != part.unless.end();
    });
    if (!is_said) all.emplace_back(part.option, part.value);
  }
  all.insert(all.end(), options.begin(), options.end());
  return all;
}

}  // namespace memtape
