// SPDX-License-Identifier: Apache-2.0
// `memtape explain FILE...`: what a real run left behind, read and attributed.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "answer/explain_files.h"
#include "commands.h"
#include "evidence/evidence_file.h"
#include "explain_against.h"
#include "recorded_file.h"
#include "report/explanation.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

Result<Explanation> explain(const Words& words) {
  Result<Explanation> e = explain_each(words.operands, words.whole("device"), RecordedFile::open);
  if (!e) return e;
  const std::vector<std::string> against =
      words.has("against") ? std::vector{words.text("against")} : words.tail;
  if (!against.empty())
    if (const Result<void> laid = lay_beside(against, *e); !laid)
      return tl::unexpected(laid.error());
  return e;
}

int run_explain(const Words& words, Terminal& terminal) {
  const Result<Explanation> explanation = explain(words);
  if (!explanation) return terminal.fail(explanation.error());
  if (const std::string* html = words.find("html")) {
    if (explanation->recordings.empty())
      return terminal.fail({ErrorKind::bad_input, "needs a snapshot or a trace to draw", "--html",
                            "torch.cuda.memory._dump_snapshot(FILE)"});
    if (const auto written = sources::write_output(*html, report::html(*explanation)); !written)
      return terminal.fail(written.error());
  }
  const report::Style style = terminal.style();
  const OutputOptions output = output_of(words);
  terminal.print(output.json    ? report::json(*explanation)
                 : output.quiet ? report::quiet_text(*explanation)
                                : report::text(*explanation, style, terminal.width()));
  return ExitCode::fits;
}

/// Whether another program's output is piped into this one, or a file is.
bool is_piped() {
  struct stat input = {};
  return fstat(STDIN_FILENO, &input) == 0 && (S_ISFIFO(input.st_mode) || S_ISREG(input.st_mode));
}

/// `python train.py 2>&1 | memtape explain` names no file.
Result<Words> read_files(const Syntax& syntax, Arguments typed) {
  Syntax may_have_none = syntax;
  if (is_piped()) may_have_none.operands.front().is_required = false;
  Result<Words> words = option::read_words(may_have_none, typed);
  if (words && words->operands.empty() && is_piped()) words->operands.emplace_back("-");
  return words;
}

/// `memtape explain FILE... [--against 'train MODEL ...' | --against -- COMMAND]`: the tail begins
/// with the --.
Result<Words> read_files_and_against(const Syntax& syntax, Arguments typed) {
  const auto dashes = std::ranges::find(typed, std::string_view("--"));
  if (dashes == typed.end()) return read_files(syntax, typed);
  const Arguments before(typed.begin(), dashes);
  if (before.empty() || before.back() != std::string_view("--against"))
    return tl::unexpected(
        option::mistake(syntax, "a command stands without --against before its --"));
  Result<Words> words = read_files(syntax, before.first(before.size() - 1));
  if (!words || words->asks_help) return words;
  if (words->has("against"))
    return tl::unexpected(option::mistake(syntax, "--against is given twice"));
  words->tail.assign(dashes, typed.end());
  return words;
}

constexpr Operand kEvidence{
    "FILE", "snapshots, traces, logs or messages; - is standard input, as is none behind a |", true,
    true};
constexpr auto kExplainOptions = std::to_array<Option>({
    Option{"--against", "'train MODEL ...'",
           "a prediction to lay it beside, or: --against -- COMMAND"}
        .people_say("--model -m"),
    answer::kOneDevice,
    {"--html", "FILE", "write a page: memory over time, by stack, by segment",
     answer::kAnswerGroup},
});

}  // namespace

const Command kExplainCommand{
    .name = "explain",
    .usage = "FILE...",
    .summary = "a snapshot, log or error message: what held the memory",
    .explanation =
        "what a message rounds is known to half a unit of its last digit; what a snapshot "
        "holds is attributed by the frames that asked for it (docs/explain.md)",
    .example = "python train.py 2>&1 | memtape explain",
    .operands = {&kEvidence, 1},
    .own = kExplainOptions,
    .read = read_files_and_against,
    .run = run_explain,
};

}  // namespace memtape::cli
