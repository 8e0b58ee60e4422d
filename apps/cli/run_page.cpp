// SPDX-License-Identifier: Apache-2.0
#include "run_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "answer/device_options.h"
#include "base/text.h"
#include "outside_process.h"
#include "phantom/tape_file.h"
#include "predict/rank_report.h"
#include "predict/step_trace.h"
#include "report/html.h"

namespace memtape::cli {
namespace {

using phantom_run::TapeFile;

Result<DeviceSetup> device_of_run(const RawOptions& asked,
                                  const phantom_run::PhantomRequest& request) {
  Result<DeviceSetup> device = answer::device_of(asked.values, {}, outside_process());
  if (!device) return device;
  device->gpu = request.gpu;
  device->total_override = request.total_bytes;
  device->context_override = request.context_bytes;
  return device;
}

std::vector<LargestTensor> largest_of(const report::RunEntry& entry) {
  std::vector<LargestTensor> rows;
  for (const report::LiveTensors& t : entry.largest) {
    LargestTensor row;
    row.module = t.place.empty() ? "(no Python: autograd's thread)" : t.place;
    row.count = t.count;
    row.bytes = t.bytes;
    row.why = fmt::format("{}", fmt::join(t.stack, " < "));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// What keeps the page from being the run itself.
void add_differences(const report::RunEntry& entry, const TapeFile& file, const Levels& highest,
                     std::vector<std::string>& warnings) {
  if (file.dropped > 0)
    warnings.push_back(fmt::format(
        "the first {} allocations are not kept (--history N): what was left of them is laid out "
        "anew",
        with_commas(file.dropped)));
  if (highest.allocated != entry.peak.allocated || highest.reserved != entry.peak.reserved)
    warnings.push_back(fmt::format(
        "drawn from the requests as the replica of the allocator serves them: its peak is {} "
        "allocated and {} reserved, the run's was {} and {}",
        human_bytes(highest.allocated), human_bytes(highest.reserved),
        human_bytes(entry.peak.allocated), human_bytes(entry.peak.reserved)));
}

}  // namespace

Result<std::string> run_page(const RawOptions& asked, const phantom_run::PhantomRequest& request,
                             const phantom_run::RunFolder& folder, const report::PhantomRun& run) {
  const report::RunEntry* fullest = run.fullest();
  if (!fullest)
    return memtape::bad_input("there is nothing to draw: no process used a GPU through PyTorch",
                              asked.html);
  const Result<DeviceSetup> device = device_of_run(asked, request);
  if (!device) return tl::unexpected(device.error());
  Result<TapeFile> file =
      phantom_run::read_tape_file(folder.path() / fmt::format("process-{}.tape", fullest->pid));
  if (!file) return tl::unexpected(file.error());
  torch::TrainRun recorded{.tape = std::move(file->tape), .statics = {}};
  const DeviceMemory memory{.total = request.total_bytes, .outside = request.context_bytes};
  StepPlay play = play_program(recorded.tape, *device, memory, file->step, true);
  Prediction page;
  page.command = "run";
  page.model.id = fmt::format("{}", fmt::join(run.command, " "));
  page.device = run.device;
  page.warnings = run.warnings;
  add_differences(*fullest, *file, play.highest, page.warnings);
  page.ranks.push_back(rank_report(recorded, play, request.context_bytes, 0));
  page.ranks.front().largest = largest_of(*fullest);
  page.fits = !run.ran_out();
  const Trace trace = trace_of(std::move(recorded.tape), std::move(play), file->step);
  return report::html(page, trace, report::TensorNames::by_place);
}

}  // namespace memtape::cli
