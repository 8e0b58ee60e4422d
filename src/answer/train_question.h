// SPDX-License-Identifier: Apache-2.0
// What a question about many trainings needs.
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
  std::vector<Setting> settings = {};  ///< those of the command as it is, with all defaults

  std::vector<VariantAnswer> answers(const std::vector<TrainVariant>& variants) const {
    return answer_variants(model, command, variants, workers);
  }
};

/// The model and what was assumed for it: "Qwen/Qwen3-8B (torch, 1 x 2048 tokens, bf16)". It leaves
/// out what the options in `varied` set.
std::string title_of(const Question& question, std::span<const std::string> varied);

CommandWords without_questions(CommandWords command);

/// An error if the command says itself what the question `asks` is to vary: --grid, --solve.
Result<void> check_unsaid(const Question& question, const std::string& option,
                          std::string_view asks);

/// Whether the answer counts as fitting. "May not fit" counts, unless --strict is set.
bool passes(const VariantAnswer& answer, bool strict);

/// Writes what is needed, the verdict and the room, or why it is not possible, as members of an
/// object that is open.
void write_members(report::JsonWriter& out, const VariantAnswer& answer);

/// Writes the beginning that all answers of this kind have: schema, command, question and model.
void write_head(report::JsonWriter& out, std::string_view question, const std::string& model);

/// What --quiet says of an answer that is possible.
std::string quiet_line(std::string name, const VariantAnswer& answer);

/// A number without its unit: "12.34".
std::string gib_number(Bytes bytes);
/// The option as it is typed: "--micro-batch-size".
std::string option_text(std::string_view name);

}  // namespace memtape::answer
