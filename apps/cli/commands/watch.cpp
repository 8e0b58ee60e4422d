// SPDX-License-Identifier: Apache-2.0
// `memtape watch -- COMMAND...`: the program as it is, on the GPU that is there, with the agent of
// `memtape run` inside and no stand-ins. When it runs out of memory its snapshot is kept and
// explained.
#include <chrono>
#include <cstdlib>

#include <fmt/format.h>

#include "base/text.h"
#include "commands.h"
#include "evidence/explanation.h"
#include "nvml.h"
#include "phantom/child.h"
#include "phantom/run_folder.h"
#include "phantom/stand_ins.h"
#include "progress_line.h"
#include "recorded_file.h"
#include "report/explanation.h"
#include "report/phantom_run.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

using phantom_run::RunFolder;

/// The fullest GPU of the machine, as its driver tells; nothing without one.
std::optional<LocalGpu> fullest_gpu() {
  LocalGpus local = local_gpus();
  std::optional<LocalGpu> fullest;
  for (LocalGpu& gpu : local.gpus)
    if (!fullest || gpu.used > fullest->used) fullest = std::move(gpu);
  return fullest;
}

std::string watch_progress(const RunFolder& folder) {
  report::PhantomRun run;
  folder.read_into(run);
  const report::RunEntry* fullest = run.fullest();
  if (fullest == nullptr) return {};
  const std::optional<LocalGpu> gpu = fullest_gpu();
  return fmt::format(
      "memtape: step {}: {} allocated, {} reserved, peak {}{}", fullest->steps_done,
      gib(fullest->now.allocated), gib(fullest->now.reserved), gib(fullest->peak.reserved),
      gpu ? fmt::format("; GPU {}: {} free of {}", gpu->index, gib(gpu->free), gib(gpu->total))
          : "");
}

phantom_run::Environment environment_of(const std::filesystem::path& agent,
                                        const RunFolder& folder) {
  const char* before = std::getenv("PYTHONPATH");
  const bool has_own = before != nullptr && *before != 0;
  return {{"PYTHONPATH", agent.string() + (has_own ? ":" + std::string(before) : "")},
          {"MEMTAPE_PHANTOM_RUN", folder.path().string()},
          {"MEMTAPE_WATCH", "1"}};
}

void describe_device(report::PhantomRun& run) {
  const LocalGpus local = local_gpus();
  run.gpus = static_cast<int>(local.gpus.size());
  if (local.gpus.empty()) {
    run.warnings.push_back(local.none);
    return;
  }
  run.device.name = local.gpus.front().name;
  run.device.total_bytes = local.gpus.front().total;
}

Result<report::PhantomRun> watched(const Words& words, const RunFolder& folder,
                                   Terminal& terminal) {
  const OutputOptions output = output_of(words);
  const auto program = phantom_run::find_program(words.tail);
  if (!program) return tl::unexpected(program.error());
  const auto stand_ins = phantom_run::stand_ins_folder();
  if (!stand_ins) return tl::unexpected(stand_ins.error());
  const phantom_run::ChildCommand child{.path = program->path,
                                        .words = words.tail,
                                        .environment = environment_of(*stand_ins / "agent", folder),
                                        .output_to_errors = output.json};
  ProgressLine line(terminal, !output.quiet, std::chrono::seconds(1));
  const auto end = run_child(child, [&] { line.show([&] { return watch_progress(folder); }); });
  line.clear();
  if (!end) return tl::unexpected(end.error());
  report::PhantomRun run;
  run.command = words.tail;
  run.exit_code = end->exit_code;
  run.signal = end->signal;
  run.seconds = end->seconds;
  describe_device(run);
  folder.read_into(run);
  if (run.entries.empty())
    run.warnings.push_back(
        "no process used a GPU through PyTorch, or it ended before its first step");
  return run;
}

/// The snapshot of the first process that ran out, kept where the user asked, and explained.
Result<std::string> explain_snapshot(const std::string& to, const RunFolder& folder,
                                     const report::PhantomRun& run, const Terminal& terminal) {
  for (const report::RunEntry& entry : run.entries) {
    const auto from = folder.path() / fmt::format("process-{}.pickle", entry.pid);
    std::error_code error;
    if (entry.failures.empty() || !std::filesystem::exists(from, error)) continue;
    if (const auto fine = sources::check_replaceable(to, sources::kPickle); !fine)
      return tl::unexpected(fine.error());
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, error);
    if (error) return memtape::bad_input("cannot be written: " + error.message(), to);
    Result<RecordedFile> file = RecordedFile::open(to);
    if (!file) return tl::unexpected(file.error());
    Result<std::vector<Recording>> recordings = file->recordings();
    if (!recordings) return tl::unexpected(recordings.error());
    Explanation e;
    e.kind = "snapshot";
    e.files = {to};
    for (Recording& recording : *recordings)
      e.recordings.push_back(explained(std::move(recording)));
    return fmt::format("\nits snapshot is kept as {}\n\n{}", to,
                       report::text(e, terminal.style(), terminal.width()));
  }
  return std::string();
}

int run_watch(const Words& words, Terminal& terminal) {
  if (words.tail.empty())
    return terminal.fail(option::mistake({.command = "watch"}, "a command is missing behind --"));
  const OutputOptions output = output_of(words);
  const Result<RunFolder> folder = RunFolder::make();
  if (!folder) return terminal.fail(folder.error());
  const Result<report::PhantomRun> run = watched(words, *folder, terminal);
  if (!run) return terminal.fail(run.error());
  terminal.print(output.json    ? report::json(*run)
                 : output.quiet ? report::quiet_text(*run)
                                : "\n" + report::text(*run));
  const Result<std::string> told =
      explain_snapshot(words.text_or_default("snapshot"), *folder, *run, terminal);
  if (!told)
    terminal.note(told.error().line());
  else if (!output.json && !output.quiet)
    terminal.print(*told);
  if (run->signal)
    terminal.note(fmt::format("{} was ended by signal {}", words.tail.front(), run->signal));
  return run->exit_code;
}

constexpr auto kWatchOptions = std::to_array<Option>({
    {"--snapshot",
     "FILE",
     "where the snapshot of a run that ran out is kept",
     answer::kAnswerGroup,
     {},
     "memtape-oom.pickle"},
});

}  // namespace

const Command kWatchCommand{
    .name = "watch",
    .usage = "-- COMMAND...",
    .summary = "a real run on a real GPU, observed",
    .explanation = "the figures are torch's own, written down inside of the process while it ran",
    .example = "memtape watch -- python train.py",
    .own = kWatchOptions,
    .takes_tail = true,
    .run = run_watch,
};

}  // namespace memtape::cli
