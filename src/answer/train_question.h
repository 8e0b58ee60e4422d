// SPDX-License-Identifier: Apache-2.0
// What a question about many trainings is asked with.
#pragma once

#include <span>
#include <string>

#include "predict/train_variants.h"
#include "report/json_writer.h"

namespace memtape::answer {

struct Question {
  const ModelRequest& model;
  CommandWords command;  ///< without the question itself
  const DeviceSetup& device;
  Workers workers;
  bool strict = false;
  std::vector<Setting> settings = {};  ///< of the command as it is, defaults included

  std::vector<VariantAnswer> answers(const std::vector<TrainVariant>& variants) const {
    return answer_variants(model, command, variants, workers);
  }
};

/// "Qwen/Qwen3-8B (torch, 1 x 2048 tokens, bf16)": the model and what was taken for it, without
/// what the options in `varied` set.
std::string title_of(const Question& question, std::span<const std::string> varied);

CommandWords without_questions(CommandWords command);

/// Whether that counts as fitting: "may not fit" does, unless --strict.
bool passes(const VariantAnswer& answer, bool strict);

/// Needs, verdict and room, or why it is not possible, as members of an object that is open.
void write_members(report::JsonWriter& out, const VariantAnswer& answer);

/// The beginning that every answer of this kind has: schema, command, the question and the model.
void write_head(report::JsonWriter& out, std::string_view question, const std::string& model);

/// "12.34"
std::string gib_number(Bytes bytes);
/// "--micro-batch-size"
std::string option_text(std::string_view name);

}  // namespace memtape::answer
