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
        "Megatron, torchtitan, DeepSpeed, nvidia-smi or torch.cuda.memory_summary()");
  for (OomMessage& message : messages) e.messages.push_back(explained(std::move(message), figures));
  e.figures.insert(e.figures.end(), figures.begin(), figures.end());
  return {};
}

Result<void> read_recordings(RecordedFile& file, int device, Explanation& e) {
  Result<std::vector<Recording>> recordings = file.recordings();
  if (!recordings) return tl::unexpected(recordings.error());
  bool found = false;
  for (Recording& recording : *recordings) {
    if (device >= 0 && recording.device != device) continue;
    found = true;
    e.recordings.push_back(explained(std::move(recording)));
    const Recording& kept = e.recordings.back().recording;
    for (const std::string& warning : kept.warnings)
      e.warnings.push_back(fmt::format("{}: {}", kept.name, warning));
  }
  if (!found)
    return memtape::bad_input(fmt::format("holds nothing of device {}", device), file.name());
  return {};
}

Result<Explanation> explain(const ExplainOptions& options) {
  Explanation e;
  std::optional<RecordedFile::Kind> first;
  for (const std::string& path : options.files) {
    Result<RecordedFile> file = RecordedFile::open(path);
    if (!file) return tl::unexpected(file.error());
    if (!first) first = file->kind();
    e.files.push_back(file->name());
    const Result<void> read = file->kind() == RecordedFile::Kind::text
                                  ? read_text(*file, e)
                                  : read_recordings(*file, options.device, e);
    if (!read) return tl::unexpected(read.error());
  }
  e.kind = kind_of(e, *first);
  if (!options.against.empty())
    if (const Result<void> laid = lay_beside(options.against, e); !laid)
      return tl::unexpected(laid.error());
  return e;
}

}  // namespace

int run_explain(const ExplainOptions& options, Terminal& terminal) {
  const Result<Explanation> explanation = explain(options);
  if (!explanation) return terminal.fail(explanation.error());
  if (!options.html.empty()) {
    if (explanation->recordings.empty())
      return terminal.fail({ErrorKind::bad_input, "needs a snapshot or a trace to draw", "--html",
                            "torch.cuda.memory._dump_snapshot(FILE)"});
    if (const auto written = sources::write_file(options.html, report::html(*explanation));
        !written)
      return terminal.fail(written.error());
  }
  const report::Style style{.colour = terminal.colour()};
  terminal.print(options.output.json    ? report::json(*explanation)
                 : options.output.quiet ? report::quiet_text(*explanation)
                                        : report::text(*explanation, style, terminal.width()));
  return ExitCode::fits;
}

}  // namespace memtape::cli
