// SPDX-License-Identifier: Apache-2.0
// Published scripts around transformers' Trainer with argument classes of their own: qlora.py
// (github.com/artidoro/qlora, get_accelerate_model), FastChat's train_lora (0.2.36, train), and
// ms-swift (4, `swift sft` and `swift pt`), which loads in the checkpoint's dtype.
#include <array>

#include <fmt/format.h>

#include "family/images_left_out.h"
#include "launch/programs.h"
#include "launch/trainer_program.h"

namespace memtape::launch {
namespace {

std::string compute_dtype(Settings& settings) {
  return settings.on("fp16") ? "float16" : settings.on("bf16") ? "bfloat16" : "float32";
}

/// TrainingArguments that are said, and the script's own defaults.
void add_arguments(Reading& reading) {
  add_training_arguments(reading.settings, nullptr, reading);
  for (const SaidRow& said : said_rows(reading.rows(), "default", reading.settings))
    reading.add_default(said.row->as, said.value);
}

void add_qlora_base(const std::string& dtype, Reading& reading) {
  Settings& settings = reading.settings;
  const std::int64_t bits = settings.whole("bits").value_or(4);
  if (bits == 4 || bits == 8)
    add_quantization({.bits = static_cast<int>(bits),
                      .double_quant = settings.on("double_quant", true),
                      .type = settings.text("quant_type").value_or("nf4"),
                      .compute_dtype = dtype},
                     reading);
  else if (bits != 16 && bits != 32)
    settings.fail(*settings.find("bits"), "qlora.py knows no such number of bits",
                  "4, 8, 16 or 32");
  else if (!settings.on("full_finetune"))
    settings.fail(*settings.find("bits"), "adapters on a base cast to float32 are not modelled",
                  "4 or 8, or --full_finetune");
}

void say_qlora(Reading& reading) {
  Settings& settings = reading.settings;
  const std::string dtype = compute_dtype(settings);
  reading.take_model(settings.text("model_name_or_path").value_or("EleutherAI/pythia-12b"), "");
  reading.translation.add("weights", dtype == "bfloat16" ? "bf16" : "fp32");
  add_qlora_base(dtype, reading);
  if (!settings.on("full_finetune")) {
    add_lora(reading.members("peft"), {"all-linear"}, {}, reading);
    if (dtype == "bfloat16")
      reading.not_modelled(
          "qlora.py casts adapters and embeddings to bfloat16 behind peft; here they are float32");
  }
  add_arguments(reading);
  reading.translation.add("sequence-length", settings.whole("source_max_len").value_or(1024) +
                                                 settings.whole("target_max_len").value_or(256));
  reading.warn("all samples are taken to be source_max_len and target_max_len long together");
}

void say_fastchat_lora(Reading& reading) {
  Settings& settings = reading.settings;
  take_script_model(reading);
  if (settings.on("flash_attn")) reading.translation.add("attention", "flash");
  if (settings.on("q_lora"))
    add_quantization({.double_quant = true, .compute_dtype = compute_dtype(settings)}, reading);
  std::vector<std::string> targets = separate_names(settings.words("lora_target_modules"));
  if (targets.empty()) targets = {"q_proj", "v_proj"};
  add_lora(reading.members("peft"), targets, {}, reading);
  reading.add_options();
  add_arguments(reading);
}

/// SftArguments: adapters by default, and whole batches of 16 over all processes.
void say_swift(Reading& reading) {
  Settings& settings = reading.settings;
  Translation& said = reading.translation;
  const char* kind = settings.find("tuner_type") ? "tuner_type" : "train_type";  // before 4
  constexpr std::array<std::string_view, 2> kKinds{"lora", "full"};
  const std::string type = settings.choice(kind, kKinds).value_or("lora");
  reading.take_model(settings.text("model"), "--model MODEL");
  add_weights("torch_dtype", reading);
  add_attention("attn_impl", reading);
  const bool is_half = settings.text("torch_dtype") == "float16";
  if (!settings.find("bf16") && !settings.find("fp16")) said.add(is_half ? "fp16" : "bf16", "true");
  constexpr std::array<std::string_view, 1> kMethods{"bnb"};
  if (settings.choice("quant_method", kMethods))
    add_quantization({.bits = static_cast<int>(settings.whole("quant_bits").value_or(4)),
                      .double_quant = settings.on("bnb_4bit_use_double_quant", true),
                      .type = settings.text("bnb_4bit_quant_type").value_or("nf4"),
                      .compute_dtype = is_half ? "float16" : "bfloat16"},
                     reading);
  std::vector<std::string> targets = separate_names(settings.words("target_modules"));
  if (targets.empty()) targets = {"all-linear"};
  if (type == "lora")
    add_lora(reading.members("peft"), targets, settings.text("target_regex").value_or(""), reading);
  else if (settings.on("freeze_vit", true))
    said.add("freeze", "towers");
  add_arguments(reading);
  const std::int64_t each = reading.command.gpus().value_or(1) *
                            settings.whole("per_device_train_batch_size").value_or(1);
  reading.add_default("gradient_accumulation_steps", fmt::format("{}", (15 + each) / each));
  reading.add_options();
  reading.warn("all samples are taken to be max_length long, with logits of prompts, too");
}

void begin_swift(Reading& reading) {  // cli/main.py
  note_torchrun_of_its_own(reading);
  begin_trainer(reading);
}

}  // namespace

const SettingsProgram kSwift{.table = data::ms_swift_settings,
                             .style = {.name = "swift", .file = WordStyle::File::config},
                             .say = say_swift,
                             .begin = begin_swift,
                             .fields = training_fields};

Result<Translation> translate_swift(const LaunchCommand& command) {
  LaunchCommand renamed = command;
  bool is_2 = false;
  for (std::string& word : renamed.arguments) {
    const std::size_t end = std::min(word.find('='), word.size());
    is_2 = is_2 || word.substr(0, end) == "--sft_type";
    if (const auto now = meaning_of(word.substr(0, end), data::swift_earlier_words()); !now.empty())
      word.replace(0, end, now);
  }
  Result<Translation> translation = translate(kSwift, renamed);
  if (translation && is_2) translation->remarks.not_bounded.emplace_back(family::kImagesNotCut);
  return translation;
}

const SettingsProgram kQlora{.table = data::qlora_settings,
                             .style = kScriptStyle,
                             .say = say_qlora,
                             .fields = training_fields};

const SettingsProgram kFastChatLora{.table = data::fastchat_lora_settings,
                                    .style = kScriptStyle,
                                    .say = say_fastchat_lora,
                                    .fields = training_fields};

}  // namespace memtape::launch
