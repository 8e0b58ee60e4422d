// SPDX-License-Identifier: Apache-2.0
// `memtape explain FILE...`: what a real run left behind, read and attributed.
#include <algorithm>

#include <fmt/format.h>

#include "commands.h"
#include "evidence/explanation.h"
#include "explain_against.h"
#include "recorded_file.h"
#include "report/explanation.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

bool of_smi(const LogFigure& figure) { return figure.program == "nvidia-smi"; }

/// What the first thing found in the files is.
std::string kind_of(const Explanation& e, RecordedFile::Kind first) {
  if (!e.recordings.empty()) return first == RecordedFile::Kind::trace ? "trace" : "snapshot";
  if (!e.messages.empty()) return "oom";
  return std::ranges::all_of(e.figures, of_smi) ? "nvidia-smi" : "log";
}

Result<void> read_text(RecordedFile& file, Explanation& e) {
  const Result<std::string> text = file.text();
  if (!text) return tl::unexpected(text.error());
  std::vector<OomMessage> messages = oom_messages(*text);
  std::vector<LogFigure> figures = log_figures(*text);
  if (messages.empty() && figures.empty())
    return memtape::bad_input(
        "holds no memory figures that are known", file.name(),
        "a snapshot, a trace, an out-of-memory message, or a log of vLLM, SGLang, llama.cpp, "
        "Megatron, torchtitan, DeepSpeed, axolotl, nvidia-smi or torch.cuda.memory_summary()");
  for (OomMessage& message : messages) e.messages.push_back(explained(std::move(message), figures));
  e.figures.insert(e.figures.end(), figures.begin(), figures.end());
  return {};
}

Result<void> read_recordings(RecordedFile& file, std::optional<std::int64_t> device,
                             Explanation& e) {
  Result<std::vector<Recording>> recordings = file.recordings();
  if (!recordings) return tl::unexpected(recordings.error());
  bool found = false;
  for (Recording& recording : *recordings) {
    if (device && recording.device != *device) continue;
    found = true;
    e.recordings.push_back(explained(std::move(recording)));
    const Recording& kept = e.recordings.back().recording;
    for (const std::string& warning : kept.warnings)
      e.warnings.push_back(fmt::format("{}: {}", kept.name, warning));
  }
  if (!found)
    return memtape::bad_input(fmt::format("holds nothing of device {}", device.value_or(-1)),
                              file.name());
  return {};
}

Result<Explanation> explain(const Words& words) {
  Explanation e;
  std::optional<RecordedFile::Kind> first;
  for (const std::string& path : words.operands) {
    Result<RecordedFile> file = RecordedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    if (!first) first = file->kind();
    e.files.push_back(file->name());
    const Result<void> read = file->kind() == RecordedFile::Kind::text
                                  ? read_text(*file, e)
                                  : read_recordings(*file, words.whole("device"), e);
    if (!read) return tl::unexpected(read.error());
  }
  e.kind = kind_of(e, *first);
  const std::vector<std::string> against =
      words.has("against") ? std::vector{words.text("against")} : words.tail;
  if (!against.empty())
    if (const Result<void> laid = lay_beside(against, e); !laid)
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

/// `memtape explain FILE... [--against 'train MODEL ...' | --against -- COMMAND]`: the tail begins
/// with the --.
Result<Words> read_files_and_against(const Syntax& syntax, Arguments typed) {
  const auto dashes = std::ranges::find(typed, std::string_view("--"));
  if (dashes == typed.end()) return option::read_words(syntax, typed);
  const Arguments before(typed.begin(), dashes);
  if (before.empty() || before.back() != std::string_view("--against"))
    return tl::unexpected(
        option::mistake(syntax, "a command stands without --against before its --"));
  Result<Words> words = option::read_words(syntax, before.first(before.size() - 1));
  if (!words || words->asks_help) return words;
  if (words->has("against"))
    return tl::unexpected(option::mistake(syntax, "--against is given twice"));
  words->tail.assign(dashes, typed.end());
  return words;
}

constexpr Operand kEvidence{"FILE", "snapshots, traces, logs or messages; - is standard input",
                            true, true};
constexpr auto kExplainOptions = std::to_array<Option>({
    {"--against", "'train MODEL ...'", "a prediction to lay it beside, or: --against -- COMMAND"},
    {"--device",
     "N",
     "only this one, of a snapshot of several",
     {},
     option::Whole{.least = 0, .most = 1 << 20}},
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
    .example = "memtape explain snapshot.pickle",
    .operands = {&kEvidence, 1},
    .own = kExplainOptions,
    .read = read_files_and_against,
    .run = run_explain,
};

}  // namespace memtape::cli
