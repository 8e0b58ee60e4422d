// SPDX-License-Identifier: Apache-2.0
// `memtape plan train MODEL`: what fits, ranked by time or cost.
#include <chrono>
#include <mutex>

#include <fmt/format.h>

#include "answer/plan_export.h"
#include "answer/plan_serve.h"
#include "answer/plan_train.h"
#include "commands.h"
#include "interruptible.h"
#include "outside_process.h"
#include "plan_folder.h"
#include "progress_line.h"
#include "report/plan_csv.h"
#include "report/plan_html.h"
#include "report/plan_json.h"
#include "report/plan_text.h"
#include "report/plan_why.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

std::string search_progress(const plan::Progress& p) {
  return fmt::format(
      "{} plans, {} bounded out, {} run exactly, {} fit; ctrl-C shows the best so far", p.screened,
      p.bounded, p.confirmed, p.found);
}

void print_plans(const PlanAnswer& answer, const OutputOptions& output, bool csv,
                 Terminal& terminal) {
  if (output.json) return terminal.print(report::json(answer));
  if (csv) return terminal.print(report::csv(answer));
  if (output.quiet) return terminal.print(report::quiet_text(answer));
  const report::PlanLook look{.width = terminal.width(), .style = terminal.style()};
  terminal.print(report::text(answer, look));
  if (output.explain) terminal.print(report::why_text(answer, look));
}

/// The page of --html, or the folder of --export.
Result<void> write_files(const RawOptions& options,
                         const std::optional<answer::ExportRequest>& exported,
                         const PlanAnswer& answer, Terminal& terminal) {
  if (!options.html.empty())
    if (const auto written = sources::write_output(options.html, report::html(answer)); !written)
      return written;
  if (!exported) return {};
  const Result<std::string> folder = write_folder(*exported, answer);
  if (!folder) return tl::unexpected(folder.error());
  terminal.note(*folder);
  return {};
}

/// The folder that is asked for, which is looked at before the search begins.
Result<std::optional<answer::ExportRequest>> asked_folder(const NamedValues& values) {
  auto request = answer::export_request(values);
  if (request && *request)
    if (const auto free = check_folder(**request); !free) return tl::unexpected(free.error());
  return request;
}

int plan_servers(const RawOptions& options, Terminal& terminal) {
  const auto exported = asked_folder(options.values);
  if (!exported) return terminal.fail(exported.error());
  const Result<PlanAnswer> answer = [&] {
    const WaitingLine line(terminal, !options.output.quiet, "planning");
    return answer::plan_serve(options, outside_process());
  }();
  if (!answer) return terminal.fail(answer.error());
  print_plans(*answer, options.output, options.csv, terminal);
  if (const auto written = write_files(options, *exported, *answer, terminal); !written)
    return terminal.fail(written.error());
  return answer->plans.empty() ? ExitCode::does_not_fit : ExitCode::fits;
}

int plan_training(const RawOptions& options, Terminal& terminal) {
  const auto exported = asked_folder(options.values);
  if (!exported) return terminal.fail(exported.error());
  const Result<PlanAnswer> answer = [&] {
    const Interruptible interruptible;
    std::mutex one_at_a_time;
    plan::Progress latest;
    const WaitingLine line(terminal, true, [&](std::chrono::seconds) {
      const std::scoped_lock lock(one_at_a_time);
      return search_progress(latest);
    });
    return answer::plan_train(
        options, outside_process(),
        {.stopped = Interruptible::is_stopped, .progress = [&](const plan::Progress& p) {
           const std::scoped_lock lock(one_at_a_time);
           latest = p;
         }});
  }();
  if (!answer) return terminal.fail(answer.error());
  print_plans(*answer, options.output, options.csv, terminal);
  if (const auto written = write_files(options, *exported, *answer, terminal); !written)
    return terminal.fail(written.error());
  return answer->fits() ? ExitCode::fits : ExitCode::does_not_fit;
}

Error no_question(std::string_view typed) {
  return option::mistake({.command = "plan"},
                         fmt::format("cannot plan '{}', only train and serve", typed));
}

bool is_question(std::string_view word) { return word == "train" || word == "serve"; }

/// What is planned stands before the model.
Result<Syntax> plan_syntax(Arguments typed) {
  const std::string_view first = typed.empty() ? "-" : typed.front();
  if (!first.starts_with('-') && !is_question(first)) return tl::unexpected(no_question(first));
  const bool serves = !typed.empty() && typed.front() == std::string_view("serve");
  Syntax syntax = serves ? answer::plan_serve_syntax() : answer::plan_train_syntax();
  syntax.operands.insert(syntax.operands.begin(),
                         {"QUESTION", serves ? "what is planned: serve"
                                             : "what is planned: train, or serve with its own "
                                               "options"});
  return syntax;
}

int run_plan(const Words& words, Terminal& terminal) {
  RawOptions options = answer::asked_of(words, 1);
  options.output.explain = words.has("why") || words.has("explain");
  if (words.operand() == "serve") return plan_servers(options, terminal);
  if (words.operand() == "train") return plan_training(options, terminal);
  return terminal.fail(no_question(words.operand()));
}

}  // namespace

const Command kPlanCommand{
    .name = "plan",
    .usage = "STEP MODEL",
    .summary = "what fits, ranked by time or cost, ready to launch",
    .explanation =
        "layouts are screened by closed-form summaries of their steps, put in order by "
        "time, and the best are run exactly, as memtape train and memtape serve do "
        "(docs/planning.md)",
    .example =
        "memtape plan train meta-llama/Llama-3.1-70B --gpu h100-80gb --gpus 64 "
        "--global-batch-size 256",
    .first =
        "gpu gpus available users context cluster method objective top "
        "sequence-length global-batch-size precision engine ttft tpot export why html json",
    .syntax = plan_syntax,
    .run = run_plan,
};

}  // namespace memtape::cli
