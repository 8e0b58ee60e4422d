// SPDX-License-Identifier: Apache-2.0
// What programs around transformers' Trainer have in common: TrainingArguments by their own names
// go to memtape's options as they are; what launchers and adapters are called differs and is said
// in memtape's words here.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "formats/settings.h"
#include "launch/programs.h"

namespace memtape::launch {

/// Fields of TrainingArguments, without those that only memtape or trl have.
std::vector<std::string_view> training_argument_fields();

/// `memtape train --framework transformers`, with the processes and the mixed precision of the
/// launcher, and its FSDP or DeepSpeed plugin.
Result<Translation> begin_trainer(const LaunchCommand& command);

/// The configuration of trl's that extends TrainingArguments; null: it is transformers' own Trainer.
using TrainerConfig = const transformers::TrlConfig*;

/// Each setting that is a field of TrainingArguments, or of trl's configuration that extends it; a
/// value that will not do is an Error at its place.
Result<void> add_training_arguments(Settings& settings, Translation& translation,
                                    TrainerConfig trainer = nullptr);

/// `name` unless the translation has it.
void add_default(Translation& translation, std::string name, std::string value);

/// How attention is computed, by transformers' names.
void add_attention(Settings& settings, std::string_view name, Translation& translation);

/// --weights from "bfloat16", "torch.float16" ...; "auto" is the checkpoint's own.
void add_weights(Settings& settings, std::string_view name, Translation& translation);

/// peft's LoraConfig, from whatever a program calls its fields. Targets: none for peft's own
/// choice, "all-linear" alone, or one pattern in their place.
struct LoraWords {
  std::int64_t rank = 8;
  std::optional<double> alpha{};  ///< peft's own where it is not said
  bool use_rslora = false;
  double dropout = 0;
  std::vector<std::string> targets, modules_to_save;
  std::string target_pattern{};  ///< a regular expression over whole names, or ""
  std::string rank_pattern;      ///< JSON, or ""
  std::vector<std::string> layers_to_transform;
  bool use_dora = false;
};
void add_lora(const LoraWords& lora, Translation& translation);

/// bitsandbytes' BitsAndBytesConfig.
struct QuantizationWords {
  int bits = 4;
  bool double_quant = false;
  std::string type = "nf4", compute_dtype = "float32";
};
void add_quantization(const QuantizationWords& quantization, Translation& translation);

}  // namespace memtape::launch
