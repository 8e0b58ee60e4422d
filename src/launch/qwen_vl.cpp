// SPDX-License-Identifier: Apache-2.0
// train_qwen.py, by which the authors of Qwen's models with images fine-tune them
// (github.com/QwenLM/Qwen3-VL, qwen-vl-finetune, qwenvl/train: train, set_model): FlashAttention 2,
// weights in bfloat16 under --bf16, and a switch for each part that is trained.
#include <fmt/format.h>

#include "launch/programs.h"
#include "launch/trainer_program.h"

namespace memtape::launch {
namespace {

/// What set_model leaves without gradients. lm_head stays trained: its `requires_grad` is set on
/// the module, which no parameter reads.
std::vector<std::string_view> frozen_parts(Settings& settings) {
  const bool vision = settings.on("tune_mm_vision"), merger = settings.on("tune_mm_mlp");
  std::vector<std::string_view> parts;
  if (!vision) parts.push_back(merger ? "*visual.[!m]*" : "*visual.*");
  if (vision && !merger) parts.push_back("*visual.merger.*");
  if (!settings.on("tune_mm_llm")) parts.push_back("*language_model.*");
  return parts;
}

void say_qwen_vl(Reading& reading) {
  Settings& settings = reading.settings;
  reading.take_model(settings.text("model_name_or_path").value_or("Qwen/Qwen2.5-VL-3B-Instruct"),
                     "");
  reading.translation.add("attention", "flash");
  if (settings.on("bf16")) reading.translation.add("weights", "bf16");
  reading.translation.add("use_cache", "false");
  if (settings.on("lora_enable")) {
    add_lora(reading.members("peft"), {"q_proj", "k_proj", "v_proj", "o_proj"}, {}, reading);
  } else {
    for (const std::string_view part : frozen_parts(settings))
      reading.translation.add("freeze", part);
  }
  add_training_arguments(settings, nullptr, reading);
  for (const SaidRow& said : said_rows(reading.rows(), "default", settings))
    reading.add_default(said.row->as, said.value);
  reading.add_options();
  if (settings.on("data_flatten") || settings.on("data_packing"))
    reading.warn("data_flatten: the samples of a batch lie in one row; counted as rows");
  reading.warn("all samples are taken to be model_max_length long");
}

}  // namespace

const SettingsProgram kQwenVl{.table = data::qwen_vl_settings,
                              .style = kScriptStyle,
                              .say = say_qwen_vl,
                              .fields = training_fields};

}  // namespace memtape::launch
