// SPDX-License-Identifier: Apache-2.0
// `memtape replay TRACE`: a recording of PyTorch's allocator through the replica, and the first
// decision that differs.
#include <fmt/format.h>

#include "allocator/replay.h"
#include "base/json_reader.h"
#include "base/text.h"
#include "commands.h"
#include "recorded_file.h"

namespace memtape::cli {
namespace {

Result<std::optional<DriverPlacement>> placement_of(const ReplayOptions& options) {
  if (options.driver_placement.empty())
    return options.place_segments ? std::optional(DriverPlacement::linux_regions) : std::nullopt;
  return driver_placement_from_name(options.driver_placement).map([](DriverPlacement placement) {
    return std::optional(placement);
  });
}

/// The trace of the device that was asked for, else of the first that has one.
Result<RecordedTrace> read_trace(const ReplayOptions& options, Terminal& terminal) {
  auto file = RecordedFile::open(options.trace);
  if (!file) return tl::unexpected(file.error());
  if (file->kind() == RecordedFile::Kind::text)
    return memtape::bad_input("is no recording of an allocator", options.trace,
                              "a pickle of torch.cuda.memory._snapshot(), or a trace");
  auto recordings = file->recordings();
  if (!recordings) return tl::unexpected(recordings.error());
  for (Recording& recording : *recordings) {
    if (options.device >= 0 && recording.device != options.device) continue;
    if (options.device < 0 && recording.trace.events.empty() && &recording != &recordings->back())
      continue;
    if (options.device < 0 && recordings->size() > 1)
      terminal.note(fmt::format("{} holds {} devices, this is device {} (--device N)",
                                options.trace, recordings->size(), recording.device));
    for (const std::string& warning : recording.warnings) terminal.note(warning);
    return std::move(recording.trace);
  }
  return memtape::bad_input(fmt::format("holds nothing of device {}", options.device),
                            options.trace);
}

/// Lines count from 1 and the header is the first; behind the last event stands the final state.
std::string place_of(const RecordedTrace& trace, std::size_t event) {
  return event < trace.events.size() ? fmt::format("event {} (line {})", event, event + 2)
                                     : std::string("final state");
}

std::string addresses_line(const ReplayReport& report) {
  if (!report.first_other_address) return "every address is the recorded one";
  return fmt::format("{} of {} addresses are the recorded ones, event {} is the first that is not",
                     with_commas(static_cast<std::int64_t>(report.equal_addresses)),
                     with_commas(static_cast<std::int64_t>(report.allocs)),
                     *report.first_other_address);
}

std::string text_of(const RecordedTrace& trace, const ReplayReport& report,
                    std::string_view placement) {
  if (const auto& d = report.disagreement)
    return fmt::format("{}: {}\n  recorded: {}\n  replica:  {}\n", trace.name,
                       place_of(trace, d->event), d->recorded, d->replica);
  const auto count = [](std::size_t n) { return with_commas(static_cast<std::int64_t>(n)); };
  return fmt::format(
      "{}: all {} events agree ({} allocs, {} frees, {} segment events; {} addresses); {}\n",
      trace.name, count(report.events), count(report.allocs), count(report.frees),
      count(report.segment_events), placement, addresses_line(report));
}

std::string json_of(const RecordedTrace& trace, const ReplayReport& report,
                    std::string_view placement) {
  std::string disagreement = "null";
  if (const auto& d = report.disagreement)
    disagreement = fmt::format(R"({{"event": {}, "recorded": {}, "replica": {}}})", d->event,
                               json_quoted(d->recorded), json_quoted(d->replica));
  const Statistics& stats = report.statistics;
  const auto stat = [](const Stat& s) {
    return fmt::format(R"({{"current": {}, "peak": {}}})", s.current, s.peak);
  };
  return fmt::format(
      R"({{"schema": "memtape/1", "command": "replay", "trace": {}, "torch": {}, "addresses": {}, "agrees": {},)"
      "\n "
      R"("events": {}, "allocs": {}, "frees": {}, "segment_events": {}, "ooms": {}, "equal_addresses": {},)"
      "\n "
      R"("first_other_address": {}, "disagreement": {},)"
      "\n "
      R"("requested_bytes": {}, "allocated_bytes": {}, "active_bytes": {}, "reserved_bytes": {},)"
      "\n "
      R"("inactive_split_bytes": {}, "num_alloc_retries": {}, "num_ooms": {}}})"
      "\n",
      json_quoted(trace.name), json_quoted(trace.torch), json_quoted(placement),
      !report.disagreement, report.events, report.allocs, report.frees, report.segment_events,
      report.ooms, report.equal_addresses,
      report.first_other_address ? std::to_string(*report.first_other_address) : "null",
      disagreement, stat(stats.requested_bytes), stat(stats.allocated_bytes),
      stat(stats.active_bytes), stat(stats.reserved_bytes), stats.inactive_split_bytes,
      stats.num_alloc_retries, stats.num_ooms);
}

}  // namespace

int run_replay(const ReplayOptions& options, Terminal& terminal) {
  const auto placement = placement_of(options);
  if (!placement) return terminal.fail(placement.error());
  const auto trace = read_trace(options, terminal);
  if (!trace) return terminal.fail(trace.error());
  const ReplayReport report = replay(*trace, {*placement});
  const std::string_view how = *placement ? name(**placement) : "recorded";
  if (options.output.json)
    terminal.print(json_of(*trace, report, how));
  else if (report.disagreement || !options.output.quiet)
    terminal.print(text_of(*trace, report, how));
  return report.disagreement ? ExitCode::does_not_fit : ExitCode::fits;
}

}  // namespace memtape::cli
