// SPDX-License-Identifier: Apache-2.0
#include "answer/train_question.h"

#include <fmt/format.h>

#include "report/json_parts.h"

namespace memtape::answer {

CommandWords without_questions(CommandWords command) {
  const auto asks = [](const auto& option) {
    return option.first == "solve" || option.first == "grid" || option.first == "compare" ||
           option.first == "price";
  };
  std::erase_if(command.typed, asks);
  std::erase_if(command.values, asks);
  return command;
}

bool passes(const VariantAnswer& answer, bool strict) {
  if (!answer.is_possible()) return false;
  const VerdictWord fit = answer.verdict.value_or(VerdictWord::fits);
  return fit == VerdictWord::fits || (fit == VerdictWord::may_not_fit && !strict);
}

void write_members(report::JsonWriter& out, const VariantAnswer& answer) {
  if (!answer.is_possible()) {
    out.member("failure", answer.failure);
    return;
  }
  out.member("peak_device_bytes", answer.needed_bytes);
  report::member_or_null(out, "without_limit_bytes", answer.without_limit_bytes);
  out.member("low_bytes", answer.low_bytes);
  out.member("high_bytes", answer.high_bytes);
  if (answer.device) out.member("total_bytes", answer.device->total_bytes);
  report::member_or_null(out, "headroom_bytes", answer.headroom_bytes);
  report::member_or_null(out, "fits", answer.fits);
  report::write(out, answer.verdict);
}

void write_head(report::JsonWriter& out, std::string_view question, const std::string& model) {
  out.member("schema", "memtape/1");
  out.member("command", "train");
  out.member("question", question);
  out.member("id", model);
}

std::string gib_number(Bytes bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(1_GiB));
}

std::string option_text(std::string_view name) { return fmt::format("--{}", name); }

}  // namespace memtape::answer
