// SPDX-License-Identifier: Apache-2.0
#include "answer/serve_answer.h"

#include <algorithm>

#include <fmt/format.h>

#include "answer/as_family.h"
#include "answer/comparison_table.h"
#include "answer/exit_code.h"
#include "answer/serve_request.h"
#include "answer/side_models.h"
#include "base/comma_list.h"
#include "predict/command_text.h"
#include "predict/kv_arithmetic.h"
#include "predict/other_engines.h"
#include "predict/serve.h"
#include "predict/serve_correct.h"
#include "predict/serve_question.h"
#include "report/serve_json.h"

namespace memtape::answer {
namespace {

Result<std::vector<Gpu>> compared_gpus(std::string_view names) {
  std::vector<Gpu> gpus;
  if (names.empty()) {
    gpus = gpu_catalog();
    std::erase_if(gpus, [](const Gpu& gpu) { return !gpu.runs_cuda() || gpu.total_bytes == 0; });
    std::ranges::stable_sort(gpus, {}, &Gpu::total_bytes);
    return gpus;
  }
  for (const std::string& name : split_at_commas(names)) {
    Result<Gpu> gpu = find_gpu(name, "--compare");
    if (!gpu) return tl::unexpected(gpu.error());
    gpus.push_back(*std::move(gpu));
  }
  return gpus;
}

std::vector<std::string> arithmetic(const ServeAnswer& answer, const ServeRequest& model) {
  if (!model.config) return {};
  return kv_arithmetic(answer, text_part(*model.config));
}

Result<void> check_output(const ServeCommand& command) {
  if (!last_value(command.values, "compare")) return {};
  if (!command.html.empty()) return bad_input("shows one server, --compare many", "--html");
  if (command.output.explain)
    return bad_input("explains one server, --compare shows many", "--explain");
  return {};
}

/// What `--compare` asks for instead of one answer.
Result<Serving> compared(const ServeCommand& command, const AskedServer& asked,
                         const std::string& names) {
  const Result<std::vector<Gpu>> gpus = compared_gpus(names);
  if (!gpus) return tl::unexpected(gpus.error());
  const std::string* quantize = asked.request.options.find("quantize");
  Result<Comparison> comparison = compare_serve(
      asked.engine, asked.request, *gpus,
      quantize ? split_at_commas(*quantize) : std::vector<std::string>{}, command.output.strict);
  if (!comparison) return tl::unexpected(comparison.error());
  return Serving(std::move(*comparison));
}

/// `memtape serve` with the changes in the place of what was typed for these options.
std::string own_command(const ServeCommand& command, const Correction& correction) {
  NamedValues options{{"engine", command.engine}};
  NamedValues changes = correction.changes;
  if (correction.gpus > 0 && last_value(command.values, "gpus"))
    changes.emplace_back("gpus", std::to_string(correction.gpus));
  for (const NamedValue& typed : command.values)
    if (!last_value(changes, typed.first) && typed.first != "engine" && typed.first != "solve")
      options.push_back(typed);
  options.insert(options.end(), changes.begin(), changes.end());
  return fmt::format("memtape serve {} {}", shell_word(command.model), options_text(options));
}

/// Adds to an answer that is no plain "fits" what would make it one.
void add_corrections(ServeAnswer& answer, const ServeCommand& command, const AskedServer& asked) {
  if (answer.verdict.value_or(VerdictWord::fits) == VerdictWord::fits || !answer.device) return;
  if (answer.users) return;  // what would hold more users is another question
  Corrections corrections = correct_serve(asked.engine, asked.request);
  for (Correction& one : corrections.found) {
    one.advice.command =
        command.corrected ? command.corrected(one.changes) : own_command(command, one);
    if (command.corrected && answer.corrected_command.empty())
      answer.corrected_command = one.advice.command;
    answer.advice.push_back(std::move(one.advice));
  }
  answer.nothing_helps = std::move(corrections.nothing);
}

Result<Serving> answered(const ServeCommand& command, ServeRequest model,
                         const std::vector<std::string>& warnings, const Outside& outside) {
  if (const auto fine = check_output(command); !fine) return tl::unexpected(fine.error());
  const Result<AskedServer> asked = asked_server(command, std::move(model), outside);
  if (!asked) return tl::unexpected(asked.error());
  if (const std::string* names = asked->request.options.find("compare"))
    return compared(command, *asked, *names);
  Result<ServeAnswer> answer = answer_question(asked->engine, asked->request);
  if (!answer)
    return tl::unexpected(with_other_engines(answer.error(), asked->engine, asked->request));
  if (!command.output.quiet || !command.html.empty()) add_corrections(*answer, command, *asked);
  OneServer one{std::move(*answer), {}};
  if (command.output.explain || !command.html.empty())
    one.by_hand = arithmetic(one.serve, asked->request);
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
    ServeRequest file;
    file.id = command.model;
    file.gguf = &*gguf;
    return answered(command, beside->beside(std::move(file)), {}, outside);
  }
  auto source = outside.model(command.model);
  if (source) source = as_asked(*std::move(source), command.values);
  if (!source) return tl::unexpected(source.error());
  auto serving = answered(command, beside->beside(served(*source)), source->warnings, outside);
  if (!serving) return tl::unexpected(named_ways(serving.error(), *source));
  if (auto* one = std::get_if<OneServer>(&*serving))
    widen_estimate(one->serve, *source, command.values);
  return serving;
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
