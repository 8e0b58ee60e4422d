// SPDX-License-Identifier: Apache-2.0
#include "train_questions.h"

#include <array>
#include <string_view>

#include "device_options.h"
#include "threads.h"
#include "train_compare.h"
#include "train_grid.h"
#include "train_solution.h"

namespace memtape::cli {
namespace {

constexpr auto kQuestions = std::to_array<std::string_view>({"solve", "grid", "compare"});

template <class Answer>
int print(const Result<Answer>& answer, const RawOptions& options, Terminal& terminal) {
  if (!answer) return terminal.fail(answer.error());
  terminal.print(options.output.json ? json(*answer) : text(*answer, terminal.width()));
  return answer->fits() ? ExitCode::fits : ExitCode::does_not_fit;
}

/// What draws or explains one training has nothing to say of many.
std::optional<Error> asks_too_much(const RawOptions& options, std::string_view question) {
  const auto refuse = [&](const char* option) {
    return Error{ErrorKind::bad_input, "is of one training, not of many", option,
                 "leave it out, or --" + std::string(question)};
  };
  if (!options.html.empty()) return refuse("--html");
  if (!options.snapshot.empty()) return refuse("--snapshot");
  if (options.csv) return refuse("--csv");
  if (options.rules) return refuse("--rules");
  if (options.output.explain) return refuse("--explain");
  return std::nullopt;
}

}  // namespace

std::optional<int> answer_train_question(const RawOptions& options, const TrainRequest& request,
                                         const ModelRequest& model, const CommandWords& command,
                                         Terminal& terminal) {
  std::string_view asked;
  for (const std::string_view question : kQuestions) {
    if (!last_value(options.values, question)) continue;
    if (!asked.empty())
      return terminal.fail({ErrorKind::bad_input,
                            "is another question than --" + std::string(asked),
                            "--" + std::string(question), "one of them at a time"});
    asked = question;
  }
  if (const std::string* price = last_value(options.values, "price"); price && asked != "compare")
    return terminal.fail(
        {ErrorKind::bad_input, "prices are compared", "--price", "--compare GPU,..."});
  if (asked.empty()) return std::nullopt;
  if (const auto error = asks_too_much(options, asked)) return terminal.fail(*error);
  const Question question{model, without_questions(command), request.device, threads(),
                          options.output.strict};
  if (asked == "solve")
    return print(solution_of(question, *last_value(options.values, asked)), options, terminal);
  if (asked == "grid")
    return print(grid_of(question, *last_value(options.values, asked)), options, terminal);
  const std::string* price = last_value(options.values, "price");
  return print(comparison_of(question, *last_value(options.values, asked), price ? *price : ""),
               options, terminal);
}

}  // namespace memtape::cli
