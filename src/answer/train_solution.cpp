// SPDX-License-Identifier: Apache-2.0
#include "answer/train_solution.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/train_arguments.h"
#include "predict/command_text.h"
#include "report/command_lines.h"
#include "report/style.h"

namespace memtape::answer {
namespace {

std::string needs(const VariantAnswer& answer) {
  return fmt::format("{} of {} GiB{}", gib_number(answer.needed_bytes),
                     gib_number(answer.device ? answer.device->total_bytes : 0),
                     answer.without_limit_bytes ? " with cached segments given back" : "");
}

std::string subject(const SolvedTraining& solved) {
  return solved.what == "lora-rank" ? "LoRA rank" : option_text(solved.what);
}

void add_sentence(std::string& out, std::string_view sentence, int width) {
  for (const std::string& line : report::wrap(sentence, width)) out += line + "\n";
}

}  // namespace

Result<Solution> solution_of(const Question& question, const std::string& what) {
  if (const auto fine = check_unsaid(question, what, "--solve"); !fine)
    return tl::unexpected(fine.error());
  Result<SolvedTraining> solved =
      solve_training(question.model, question.command, question.device, what);
  if (!solved) return tl::unexpected(solved.error());
  Solution solution{question.model.id,
                    title_of(question, std::array{what}),
                    {},
                    std::move(*solved),
                    question.strict};
  if (solution.solved.value > 0)
    solution.command = command_text(question.command,
                                    with_changes(question.command.typed, solution.solved.changes));
  return solution;
}

std::string text(const Solution& solution, Widths widths) {
  const SolvedTraining& s = solution.solved;
  const bool fewest = s.what == "gpus";
  std::string out;
  if (s.value == 0) {
    add_sentence(out,
                 fmt::format("{} does not fit with {} {}: {}", solution.title, subject(s), s.beyond,
                             needs(s.at_beyond)),
                 widths.sentences);
    return out;
  }
  add_sentence(
      out,
      fmt::format("{} {}: {} {} {}, {}", solution.title,
                  name(s.at_value.verdict.value_or(VerdictWord::fits)),
                  fewest ? "on at least" : "with at most", subject(s), s.value, needs(s.at_value)),
      widths.sentences);
  if (s.beyond > 0)
    add_sentence(out, fmt::format("with {} it does not: {}", s.beyond, needs(s.at_beyond)),
                 widths.sentences);
  else if (s.limit > 0)
    add_sentence(out, fmt::format("no more was tried than {}: {}", s.limit, s.limit_reason),
                 widths.sentences);
  if (!s.also_fit.empty())
    add_sentence(out,
                 fmt::format("Fitting is not monotone here: {} {} all the same.",
                             fmt::join(s.also_fit, ", "), s.also_fit.size() == 1 ? "fits" : "fit"),
                 widths.sentences);
  for (const std::string& line : report::command_lines(solution.command, widths.sentences, 2, 6))
    out += line + "\n";
  return out;
}

std::string quiet_text(const Solution& solution) {
  const SolvedTraining& s = solution.solved;
  const std::int64_t value = s.value > 0 ? s.value : s.beyond;
  return quiet_line(fmt::format("{} {}", option_text(s.what), value),
                    s.value > 0 ? s.at_value : s.at_beyond);
}

std::string json(const Solution& solution) {
  const SolvedTraining& s = solution.solved;
  report::JsonWriter out(report::JsonWriter::Layout::pretty);
  out.begin_object();
  write_head(out, "solve", solution.model);
  out.member("option", s.what);
  out.key("value");
  s.value > 0 ? out.value(s.value) : out.null();
  if (s.value > 0) {
    write_members(out, s.at_value);
    out.member("run", solution.command);
  }
  out.key("beyond");
  if (s.beyond > 0) {
    out.begin_object();
    out.member("value", s.beyond);
    write_members(out, s.at_beyond);
    out.end_object();
  } else {
    out.null();
  }
  out.key("also_fit");
  out.begin_row();
  for (const std::int64_t value : s.also_fit) out.value(value);
  out.end_array();
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::answer
