// SPDX-License-Identifier: Apache-2.0
// `memtape serve MODEL`: resolve the model, ask the engine, report.
#include <algorithm>

#include "commands.h"
#include "comparison_table.h"
#include "framework/vllm/resolve.h"
#include "predict/kv_arithmetic.h"
#include "report/serve_html.h"
#include "report/serve_json.h"
#include "report/serve_text.h"
#include "serve_request.h"
#include "sources/files.h"
#include "sources/gguf_file.h"
#include "sources/model_source.h"

namespace memtape::cli {
namespace {

bool compares(const ServeCommand& command) {
  return std::ranges::any_of(command.values, [](const auto& v) { return v.first == "compare"; });
}

int show(const Comparison& comparison, const OutputOptions& output, Terminal& terminal) {
  if (output.json)
    terminal.print(json(comparison));
  else
    terminal.print(output.quiet ? quiet_text(comparison) : text(comparison));
  return comparison.winner ? ExitCode::fits : ExitCode::does_not_fit;
}

int exit_code(const ServeAnswer& answer, bool strict) {
  const VerdictWord word = answer.verdict.value_or(VerdictWord::fits);
  const bool passes = word == VerdictWord::fits || (word == VerdictWord::may_not_fit && !strict);
  return passes ? ExitCode::fits : ExitCode::does_not_fit;
}

int show(const ServeAnswer& answer, const OutputOptions& output, bool strict, Terminal& terminal) {
  if (output.json)
    terminal.print(report::json(answer));
  else if (output.quiet)
    terminal.print(report::quiet_text(answer));
  else
    terminal.print(
        report::text(answer, {.width = terminal.width(), .style = {.colour = terminal.colour()}}));
  return exit_code(answer, strict);
}

/// The arithmetic of a token's keys and values.
std::vector<std::string> arithmetic(const ServeAnswer& answer, const ServedModel& model) {
  if (!model.config) return {};
  return kv_arithmetic(answer, vllm::text_config(*model.config));
}

int answered(const ServeCommand& command, const ServedModel& model,
             const std::vector<std::string>& warnings, Terminal& terminal) {
  if (compares(command)) {
    if (!command.html.empty())
      return terminal.fail(
          {ErrorKind::bad_input, "shows one server, --compare many", "--html", {}});
    if (command.output.explain)
      return terminal.fail(
          {ErrorKind::bad_input, "explains one server, --compare shows many", "--explain", {}});
    const Result<Comparison> comparison = compare_servers(command, model);
    if (!comparison) return terminal.fail(comparison.error());
    return show(*comparison, command.output, terminal);
  }
  Result<ServeAnswer> answer = answer_serve(command, model);
  if (!answer) return terminal.fail(answer.error());
  if (!command.output.quiet) add_correction(*answer, command, model);
  const std::vector<std::string> by_hand = command.output.explain || !command.html.empty()
                                               ? arithmetic(*answer, model)
                                               : std::vector<std::string>{};
  answer->warnings.insert(answer->warnings.begin(), command.warnings.begin(),
                          command.warnings.end());
  answer->warnings.insert(answer->warnings.begin(), warnings.begin(), warnings.end());
  if (!command.html.empty())
    if (const auto written = sources::write_file(command.html, report::html(*answer, by_hand));
        !written)
      return terminal.fail(written.error());
  if (command.output.explain)
    answer->notes.insert(answer->notes.end(), by_hand.begin(), by_hand.end());
  return show(*answer, command.output, command.strict, terminal);
}

}  // namespace

int run_serve(const ServeCommand& command, Terminal& terminal) {
  const auto beside = SideModels::read(command);
  if (!beside) return terminal.fail(beside.error());
  if (command.model.ends_with(".gguf")) {
    const auto gguf = sources::read_gguf_file(command.model);
    if (!gguf) return terminal.fail(gguf.error());
    return answered(command, {.id = command.model, .gguf = &*gguf, .beside = &*beside}, {},
                    terminal);
  }
  const auto source = sources::find_model_source(command.model, sources::HubSettings::of_process());
  if (!source) return terminal.fail(source.error());
  ServedModel model = served(*source);
  model.beside = &*beside;
  return answered(command, model, source->warnings, terminal);
}

}  // namespace memtape::cli
