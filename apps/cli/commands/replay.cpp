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

Result<std::optional<DriverPlacement>> placement_of(const Words& words) {
  const std::string* named = words.find("driver-placement");
  if (!named || named->empty())
    return words.has("place-segments") ? std::optional(DriverPlacement::linux_regions)
                                       : std::nullopt;
  return driver_placement_from_name(*named).map(
      [](DriverPlacement placement) { return std::optional(placement); });
}

/// The trace of the device that was asked for, else of the first that has one.
Result<RecordedTrace> read_trace(const Words& words, Terminal& terminal) {
  const std::string name = words.operand();
  const std::optional<std::int64_t> device = words.whole("device");
  auto file = RecordedFile::open(name);
  if (!file) return tl::unexpected(file.error());
  if (file->kind() == RecordedFile::Kind::text)
    return memtape::bad_input("is no recording of an allocator", name,
                              "a pickle of torch.cuda.memory._snapshot(), or a trace");
  auto recordings = file->recordings();
  if (!recordings) return tl::unexpected(recordings.error());
  for (Recording& recording : *recordings) {
    if (device && recording.device != *device) continue;
    if (!device && recording.trace.events.empty() && &recording != &recordings->back()) continue;
    if (!device && recordings->size() > 1)
      terminal.note(fmt::format("{} holds {} devices, this is device {} (--device N)", name,
                                recordings->size(), recording.device));
    for (const std::string& warning : recording.warnings) terminal.note(warning);
    return std::move(recording.trace);
  }
  return memtape::bad_input(fmt::format("holds nothing of device {}", device.value_or(-1)), name);
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

std::string replay_text(const RecordedTrace& trace, const ReplayReport& report,
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

std::string replay_json(const RecordedTrace& trace, const ReplayReport& report,
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

int run_replay(const Words& words, Terminal& terminal) {
  const auto placement = placement_of(words);
  if (!placement) return terminal.fail(placement.error());
  const auto trace = read_trace(words, terminal);
  if (!trace) return terminal.fail(trace.error());
  const ReplayReport report = replay(*trace, {*placement});
  const std::string_view how = *placement ? name(**placement) : "recorded";
  const OutputOptions output = output_of(words);
  if (output.json)
    terminal.print(replay_json(*trace, report, how));
  else if (report.disagreement || !output.quiet)
    terminal.print(replay_text(*trace, report, how));
  return report.disagreement ? ExitCode::does_not_fit : ExitCode::fits;
}

constexpr Operand kRecording{"TRACE",
                             "a memory snapshot (.pickle) or a recorded trace "
                             "(.jsonl, .jsonl.gz)"};
constexpr auto kReplayOptions = std::to_array<Option>({
    {"--place-segments", "", "put segments where the driver would, not where the trace says"},
    {"--driver-placement", "{linux,first-fit}", "how the driver places segments"},
    {"--device",
     "N",
     "of a snapshot of several devices",
     {},
     option::Whole{.least = 0, .most = 1 << 20}},
});

}  // namespace

const Command kReplayCommand{
    .name = "replay",
    .usage = "TRACE",
    .summary = "play a recorded allocator trace through the replica",
    .explanation =
        "each recorded request and free goes through the rules of PyTorch's allocator; "
        "what is shown is the first decision in which the recording differs",
    .example = "memtape replay trace.jsonl.gz",
    .operands = {&kRecording, 1},
    .own = kReplayOptions,
    .run = run_replay,
};

}  // namespace memtape::cli
