// SPDX-License-Identifier: Apache-2.0
// `memtape serve MODEL`: resolve the model, ask the engine, report.
#include "commands.h"
#include "report/serve_json.h"
#include "report/serve_text.h"
#include "serve_request.h"
#include "sources/model_source.h"

namespace memtape::cli {
namespace {

Result<ServeAnswer> answer_of(const ServeCommand& command) {
  const auto source = sources::find_model_source(command.model, sources::HubSettings::of_process());
  if (!source) return tl::unexpected(source.error());
  Result<ServeAnswer> answer =
      answer_serve(command, {.id = source->id,
                             .config = source->config ? &*source->config : nullptr,
                             .header = source->header ? &*source->header : nullptr});
  if (answer)
    answer->warnings.insert(answer->warnings.begin(), source->warnings.begin(),
                            source->warnings.end());
  return answer;
}

}  // namespace

int run_serve(const ServeCommand& command, Terminal& terminal) {
  const Result<ServeAnswer> answer = answer_of(command);
  if (!answer) return terminal.fail(answer.error());
  if (command.output.json)
    terminal.print(report::json(*answer));
  else if (command.output.quiet)
    terminal.print(report::quiet_text(*answer));
  else
    terminal.print(
        report::text(*answer, {.width = terminal.width(), .style = {.colour = terminal.colour()}}));
  return answer->fits.value_or(true) ? ExitCode::fits : ExitCode::does_not_fit;
}

}  // namespace memtape::cli
