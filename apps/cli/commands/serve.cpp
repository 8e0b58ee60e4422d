// SPDX-License-Identifier: Apache-2.0
// `memtape serve MODEL`: resolve the model, ask the engine, report.
#include <chrono>

#include "answer/comparison_table.h"
#include "answer/serve_answer.h"
#include "commands.h"
#include "outside_process.h"
#include "progress_line.h"
#include "report/serve_html.h"
#include "report/serve_text.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

void print_server(const Comparison& comparison, const OutputOptions& output, Terminal& terminal) {
  terminal.print(output.quiet ? answer::quiet_text(comparison)
                              : answer::text(comparison, terminal.widths()));
}

void print_server(const answer::OneServer& server, const OutputOptions& output,
                  Terminal& terminal) {
  if (output.quiet) return terminal.print(report::quiet_text(server.serve));
  terminal.print(
      report::text(server.serve, {.width = terminal.width(), .style = terminal.style()}));
}

}  // namespace

int show_server(const ServeCommand& command, Terminal& terminal) {
  const Result<answer::Serving> serving = [&] {
    const OutsideOfPrediction outside;
    const WaitingLine line(terminal, !command.output.quiet,
                           [&](std::chrono::seconds passed) { return outside.progress(passed); });
    return answer::answer_serving(command, outside);
  }();
  if (!serving) return terminal.fail(serving.error());
  if (const auto* one = std::get_if<answer::OneServer>(&*serving); one && !command.html.empty())
    if (const auto written =
            sources::write_output(command.html, report::html(one->serve, one->by_hand));
        !written)
      return terminal.fail(written.error());
  if (command.output.json)
    terminal.print(answer::json(*serving));
  else
    std::visit([&](const auto& told) { print_server(told, command.output, terminal); }, *serving);
  return answer::exit_code(*serving, command.output.strict);
}

const Command kServeCommand{
    .name = "serve",
    .usage = "MODEL",
    .summary = "an inference server, per GPU",
    .example = "memtape serve meta-llama/Llama-3.1-8B --engine llamacpp --quantize Q4_K_M",
    .first =
        "engine gpu gpus quantize max-model-len ctx-size users context output "
        "compare solve html json explain",
    .syntax = [](Arguments typed) { return answer::serve_syntax({.words = typed}); },
    .run =
        [](const Words& words, Terminal& terminal) {
          const Result<ServeCommand> command = answer::server_of(words);
          return command ? show_server(*command, terminal) : terminal.fail(command.error());
        },
};

}  // namespace memtape::cli
