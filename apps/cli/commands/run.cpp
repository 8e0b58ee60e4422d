// SPDX-License-Identifier: Apache-2.0
// `memtape run -- COMMAND...`: the program itself, on phantom GPUs, and what it did there.
#include <chrono>

#include <fmt/format.h>

#include "base/text.h"
#include "commands.h"
#include "phantom/child.h"
#include "phantom/request.h"
#include "phantom/run_folder.h"
#include "progress_line.h"
#include "run_page.h"
#include "sources/files.h"

namespace memtape::cli {
namespace {

using phantom_run::PhantomRequest;
using phantom_run::RunFolder;

std::string ledger_progress(const phantom::LedgerLayout& ledger) {
  std::int64_t most = 0, held = 0;
  int step = 0, phase = 0, processes = 0;
  for (const phantom::LedgerProcess& p : ledger.processes) {
    if (p.pid == 0) break;
    ++processes;
    for (const phantom::LedgerDevice& d : p.devices) {
      held = std::max<std::int64_t>(held, d.used);
      most = std::max<std::int64_t>(most, d.peak);
    }
    if (p.step >= step) {
      step = p.step;
      phase = p.phase;
    }
  }
  if (processes == 0) return {};
  return fmt::format("memtape: {} processes, step {}, {}: {} on the fullest GPU, peak {}",
                     processes, step + 1, name(static_cast<Phase>(phase)), gib(held), gib(most));
}

void add_hints(const PhantomRequest& request, report::PhantomRun& run) {
  if (run.exit_code == 126 || run.exit_code == 127)
    run.warnings.push_back("the program could not be started, or says so");
  if (run.entries.empty())
    run.warnings.push_back(
        run.by_gpu.empty()
            ? "no process used a GPU"
            : "a GPU was used, but not through PyTorch, or the process ended before its report");
  if (request.events == "complete" && run.by_gpu.size() + run.entries.size() > 2)
    run.warnings.push_back(
        "events are done at once: reserved memory is that of a device that keeps up (--events "
        "wait: one that lags behind)");
}

Result<report::PhantomRun> run_on_phantoms(const PhantomRequest& request, const RunFolder& folder,
                                           Terminal& terminal) {
  const auto program = phantom_run::find_program(request.command);
  if (!program) return tl::unexpected(program.error());
  const auto cuda = phantom_run::cuda_of(*program);
  if (!cuda) return tl::unexpected(cuda.error());
  const auto stand_ins = phantom_run::stand_ins_folder();
  if (!stand_ins) return tl::unexpected(stand_ins.error());
  const phantom_run::ChildCommand command{
      .path = program->path,
      .words = request.command,
      .environment = environment_of(request, *program, {*stand_ins, folder.path(), *cuda}),
      .output_to_errors = request.json};
  ProgressLine line(terminal, !request.quiet, std::chrono::seconds(1));
  const auto end =
      run_child(command, [&] { line.show([&] { return ledger_progress(folder.ledger()); }); });
  line.clear();
  if (!end) return tl::unexpected(end.error());
  report::PhantomRun run;
  run.command = request.command;
  run.exit_code = end->exit_code;
  run.signal = end->signal;
  run.seconds = end->seconds;
  run.gpus = request.gpus;
  run.device = {.name = std::string(request.gpu.name),
                .id = std::string(request.gpu.id),
                .total_bytes = request.total_bytes,
                .context_bytes = request.context_bytes,
                .source = {}};
  folder.read_into(run);
  add_hints(request, run);
  return run;
}

/// The snapshot of the fullest process, pickled by its own torch.
Result<void> keep_snapshot(const PhantomRequest& request, const RunFolder& folder,
                           const report::PhantomRun& run) {
  if (request.snapshot.empty()) return {};
  if (const auto fine = sources::check_replaceable(request.snapshot, sources::kPickle); !fine)
    return fine;
  std::error_code error;
  if (const report::RunEntry* fullest = run.fullest())
    std::filesystem::copy_file(folder.path() / fmt::format("process-{}.pickle", fullest->pid),
                               request.snapshot, std::filesystem::copy_options::overwrite_existing,
                               error);
  else
    return memtape::bad_input("there is nothing to write: no process used a GPU through PyTorch",
                              request.snapshot);
  if (error) return memtape::bad_input("cannot be written: " + error.message(), request.snapshot);
  return {};
}

Result<void> keep_page(const RawOptions& asked, const PhantomRequest& request,
                       const RunFolder& folder, const report::PhantomRun& run) {
  if (asked.html.empty()) return {};
  const Result<std::string> page = run_page(asked, request, folder, run);
  if (!page) return tl::unexpected(page.error());
  return sources::write_output(asked.html, *page);
}

int run_run(const Words& words, Terminal& terminal) {
  const RawOptions asked = answer::asked_of(words);
  const OutputOptions& output = asked.output;
  Result<PhantomRequest> request = phantom_run::phantom_request(asked.values, words.tail);
  if (!request) return terminal.fail(request.error());
  request->json = output.json;
  request->quiet = output.quiet;
  request->snapshot = asked.snapshot;
  request->tape = !asked.html.empty();
  const Result<RunFolder> folder = RunFolder::make();
  if (!folder) return terminal.fail(folder.error());
  const auto run = run_on_phantoms(*request, *folder, terminal);
  if (!run) return terminal.fail(run.error());
  if (const Result<void> kept = keep_snapshot(*request, *folder, *run); !kept)
    terminal.note(kept.error().line());
  if (const Result<void> kept = keep_page(asked, *request, *folder, *run); !kept)
    terminal.note(kept.error().line());
  terminal.print(output.json    ? report::json(*run)
                 : output.quiet ? report::quiet_text(*run)
                                : "\n" + report::text(*run));
  if (run->signal)
    terminal.note(fmt::format("{} was ended by signal {}", request->command.front(), run->signal));
  return run->exit_code;
}

constexpr std::string_view kDevice = "Device", kProgram = "Program", kValues = "Values";
constexpr auto kRunOptions = std::to_array<Option>({
    {"--gpu", "NAME", "kind of the phantom GPUs (h100-80gb; memtape gpus lists them)", kDevice},
    {"--gpus", "N", "how many there are", kDevice, {}, "1"},
    {"--gpu-memory-bytes", "N", "total memory of each, instead of the catalog's figure", kDevice},
    {"--context-bytes", "N", "memory of a CUDA context, instead of the catalog's figure", kDevice},
    {"--driver-placement", "{linux,first-fit}", "where the driver puts segments", kDevice},
    {"--rank", "R", "the program plays rank R alone; collectives succeed at once", kProgram},
    {"--world", "N", "of so many ranks", kProgram},
    {"--stop-after", "N", "end the program after N optimizer steps", kProgram},
    {"--steps", "N", "the same", kProgram},
    {"--history", "N", "allocator events that are kept for the tables", kProgram, {}, "300000"},
    {"--events", "{complete,wait}",
     "recorded events are done at once, or at the next synchronisation", kValues},
    {"--backing", "BYTES", "carry out copies and fills up to that size (0: none)", kValues},
    {"--values", "{steer,none}",
     "small tensors have their values on the host (steer), or every read gives zeros", kValues},
    {"--imbalance",
     "X",
     "routing that is invented: the fullest expert gets X times the mean",
     kValues,
     {},
     "1"},
    {"--host-init", "{skip,real}",
     "large models built on the host keep no initial values (skip), or get them", kValues},
    {"--most-reads", "N",
     "end a program that reads the same value at one line so often, and gets no further "
     "(10000; 0: never)",
     kValues},
    {"--lone-byte", "B", "what a single byte read from the device is", kValues, {}, "1"},
    {"--snapshot", "FILE", "write the pickle of the fullest process' torch", answer::kAnswerGroup},
    {"--html", "FILE", "write a page of the last step, tensor by tensor", answer::kAnswerGroup},
});

}  // namespace

const Command kRunCommand{
    .name = "run",
    .usage = "-- COMMAND...",
    .summary = "a program on phantom GPUs: its real memory, without a GPU",
    .explanation =
        "the program and its libraries are real; the driver beneath them counts what it "
        "hands out and computes nothing (docs/phantom.md)",
    .example = "memtape run --gpu a100-80gb -- python train.py",
    .own = kRunOptions,
    .takes_tail = true,
    .run = run_run,
};

}  // namespace memtape::cli
