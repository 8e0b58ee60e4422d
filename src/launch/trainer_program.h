// SPDX-License-Identifier: Apache-2.0
// What programs around transformers' Trainer have in common. TrainingArguments are passed on to
// memtape's options under their own names; the names for adapters and weights differ, and are
// translated here.
#pragma once

#include "launch/reading.h"

namespace memtape::launch {

/// The fields of TrainingArguments, without those that only memtape or trl have.
std::vector<std::string_view> training_fields(const SettingsProgram& program);

/// Passes on each of `arguments` that is a field of TrainingArguments, or of trl's configuration
/// that extends it.
void add_training_arguments(const Settings& arguments, TrainerConfig trainer, Reading& reading);

/// The processes of a program that starts torchrun itself where these variables say so.
void note_torchrun_of_its_own(Reading& reading);

/// Adds how attention is computed, which has transformers' names.
void add_attention(std::string_view setting, Reading& reading);

/// Adds --weights for "bfloat16", "torch.float16" and similar names. "auto" is the checkpoint's own
/// dtype.
void add_weights(std::string_view setting, Reading& reading);

/// Adds peft's LoraConfig. The targets are empty for peft's own choice, or only "all-linear", or
/// replaced by one regular expression for whole names.
/// `finds_names`: the program lists all linear layers itself, packed ones, too.
void add_lora(JsonObject config, const std::vector<std::string>& targets, std::string_view pattern,
              Reading& reading, bool finds_names = false);

/// bitsandbytes' BitsAndBytesConfig.
struct QuantizationWords {
  int bits = 4;
  bool double_quant = false;
  std::string type = "nf4", compute_dtype = "float32", storage = "uint8";
};
void add_quantization(const QuantizationWords& quantization, Reading& reading);
/// Adds what load_in_4bit and load_in_8bit say. It returns false if neither is on.
bool add_loaded_bits(const QuantizationWords& in_4_bits, Reading& reading);

/// Scripts with HfArgumentParser: arguments on the command line or in one file.
inline constexpr WordStyle kScriptStyle{.file = WordStyle::File::only, .negatives = true};
/// Takes the model and the dtype of its weights, as such scripts name them.
void take_script_model(Reading& reading);

}  // namespace memtape::launch
