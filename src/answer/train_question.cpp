// SPDX-License-Identifier: Apache-2.0
#include "answer/train_question.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/train_arguments.h"
#include "report/headline.h"
#include "report/json_parts.h"

namespace memtape::answer {

namespace {

/// The setting that an option of the command sets, by the setting's name.
std::string setting_of(std::string_view option) {
  if (option == "per_device_train_batch_size") return "micro_batch_size";
  if (option == "bf16" || option == "fp16") return "precision";
  std::string name(option);
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace

std::string title_of(const Question& question, std::span<const std::string> varied) {
  std::vector<Setting> settings = question.settings;
  for (const std::string& option : varied)
    std::erase_if(settings,
                  [name = setting_of(option)](const Setting& s) { return s.name == name; });
  const std::vector<std::string> taken = report::taken_in_words(settings);
  if (taken.empty()) return question.model.id;
  return fmt::format("{} ({})", question.model.id, fmt::join(taken, ", "));
}

CommandWords without_questions(CommandWords command) {
  const auto asks = [](const auto& option) {
    return option.first == "solve" || option.first == "grid" || option.first == "compare" ||
           option.first == "price";
  };
  std::erase_if(command.typed, asks);
  std::erase_if(command.values, asks);
  return command;
}

Result<void> check_unsaid(const Question& question, const std::string& option,
                          std::string_view asks) {
  const NamedValues& said = question.command.typed;
  const NamedValues others = with_changes(said, std::array{NamedValue{option, ""}});
  for (const NamedValue& one : said)
    if (std::ranges::find(others, one) == others.end())
      return bad_input(fmt::format("says what {} varies", asks), option_text(one.first),
                       "leave out one of them");
  return {};
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

std::string quiet_line(std::string name, const VariantAnswer& a) {
  report::QuietLine line{std::move(name), a.needed_bytes};
  if (a.device) {
    line.total = a.device->total_bytes;
    line.verdict =
        in_words(a.verdict.value_or(VerdictWord::fits), a.without_limit_bytes.has_value());
  }
  line.room = a.headroom_bytes;
  return line.text();
}

std::string gib_number(Bytes bytes) {
  return fmt::format("{:.2f}", static_cast<double>(bytes) / static_cast<double>(1_GiB));
}

std::string option_text(std::string_view name) { return fmt::format("--{}", name); }

}  // namespace memtape::answer
