// SPDX-License-Identifier: Apache-2.0
#include "answer/serve_answer.h"

#include <algorithm>

#include "answer/comparison_table.h"
#include "answer/exit_code.h"
#include "answer/serve_request.h"
#include "predict/kv_arithmetic.h"
#include "predict/serve.h"
#include "report/serve_json.h"

namespace memtape::answer {
namespace {

bool compares(const ServeCommand& command) {
  return std::ranges::any_of(command.values, [](const auto& v) { return v.first == "compare"; });
}

std::vector<std::string> arithmetic(const ServeAnswer& answer, const ServedModel& model) {
  if (!model.config) return {};
  return kv_arithmetic(answer, text_part(*model.config));
}

Result<Serving> compared(const ServeCommand& command, const ServedModel& model,
                         const Outside& outside) {
  if (!command.html.empty()) return bad_input("shows one server, --compare many", "--html");
  if (command.output.explain)
    return bad_input("explains one server, --compare shows many", "--explain");
  Result<Comparison> comparison = compare_servers(command, model, outside);
  if (!comparison) return tl::unexpected(comparison.error());
  return Serving(std::move(*comparison));
}

Result<Serving> answered(const ServeCommand& command, const ServedModel& model,
                         const std::vector<std::string>& warnings, const Outside& outside) {
  if (compares(command)) return compared(command, model, outside);
  Result<ServeAnswer> answer = answer_serve(command, model, outside);
  if (!answer) return tl::unexpected(answer.error());
  if (!command.output.quiet) add_correction(*answer, command, model, outside);
  OneServer one{std::move(*answer), {}};
  if (command.output.explain || !command.html.empty()) one.by_hand = arithmetic(one.serve, model);
  auto& told = one.serve.warnings;
  told.insert(told.begin(), command.warnings.begin(), command.warnings.end());
  told.insert(told.begin(), warnings.begin(), warnings.end());
  if (command.output.explain)
    one.serve.notes.insert(one.serve.notes.end(), one.by_hand.begin(), one.by_hand.end());
  return Serving(std::move(one));
}

}  // namespace

Result<Serving> answer_serving(const ServeCommand& command, const Outside& outside) {
  const auto beside = SideModels::read(command, outside);
  if (!beside) return tl::unexpected(beside.error());
  if (command.model.ends_with(".gguf")) {
    const auto gguf = outside.gguf(command.model);
    if (!gguf) return tl::unexpected(gguf.error());
    return answered(command, {.id = command.model, .gguf = &*gguf, .beside = &*beside}, {},
                    outside);
  }
  const auto source = outside.model(command.model);
  if (!source) return tl::unexpected(source.error());
  ServedModel model = served(*source);
  model.beside = &*beside;
  return answered(command, model, source->warnings, outside);
}

std::string json(const Serving& serving) {
  if (const auto* one = std::get_if<OneServer>(&serving)) return report::json(one->serve);
  return json(std::get<Comparison>(serving));
}

int exit_code(const Serving& serving, bool strict) {
  if (const auto* many = std::get_if<Comparison>(&serving))
    return many->winner ? ExitCode::fits : ExitCode::does_not_fit;
  const VerdictWord word = std::get<OneServer>(serving).serve.verdict.value_or(VerdictWord::fits);
  const bool passes = word == VerdictWord::fits || (word == VerdictWord::may_not_fit && !strict);
  return passes ? ExitCode::fits : ExitCode::does_not_fit;
}

}  // namespace memtape::answer
