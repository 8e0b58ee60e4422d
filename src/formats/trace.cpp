// SPDX-License-Identifier: Apache-2.0
#include "formats/trace.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "base/text.h"
#include "formats/trace_header.h"

namespace memtape {
namespace {

constexpr std::string_view kShape = "an event is [\"alloc\", address, size, stream]";

constexpr std::array<std::string_view, 11> kActions{
    "alloc",        "free_requested", "free_completed", "segment_alloc",
    "segment_free", "segment_map",    "segment_unmap",  "oom",
    "snapshot",     "user_defined",   "annotate"};

TraceAction action_from(std::size_t index) {
  return static_cast<TraceAction>(std::min(index, static_cast<std::size_t>(TraceAction::remark)));
}

/// One event line: strict about its shape, indifferent to spaces.
class EventScanner {
 public:
  explicit EventScanner(std::string_view line) : rest_(line) {}

  bool take(char c) {
    skip_space();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::string_view> word() {
    if (!take('"')) return std::nullopt;
    const std::size_t end = rest_.find('"');
    if (end == rest_.npos) return std::nullopt;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return text;
  }
  std::optional<std::int64_t> number() {
    skip_space();
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  bool at_end() {
    skip_space();
    return rest_.empty();
  }

 private:
  void skip_space() {
    while (!rest_.empty() &&
           (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\r'))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
};

struct EventLine {
  std::string_view action;
  std::int64_t address = 0, size = 0, stream = 0;
};

std::optional<EventLine> scan(std::string_view line) {
  EventScanner scanner(line);
  if (!scanner.take('[')) return std::nullopt;
  const auto action = scanner.word();
  if (!action || !scanner.take(',')) return std::nullopt;
  const auto address = scanner.number();
  if (!address || !scanner.take(',')) return std::nullopt;
  const auto size = scanner.number();
  if (!size || !scanner.take(',')) return std::nullopt;
  const auto stream = scanner.number();
  if (!stream || !scanner.take(']') || !scanner.at_end()) return std::nullopt;
  return EventLine{*action, *address, *size, *stream};
}

auto bad_line(std::size_t number, std::string what, std::string_view hint) {
  return bad_input(std::move(what), "line " + std::to_string(number), std::string(hint));
}

Result<EventLine> event_on(std::string_view line, std::size_t number) {
  const auto event = scan(line);
  if (!event) return bad_line(number, "not an event", kShape);
  if (std::find(kActions.begin(), kActions.end(), event->action) == kActions.end())
    return bad_line(number, "unknown action '" + std::string(event->action) + "'",
                    suggestion(event->action, kActions));
  const bool remark =
      event->action == "snapshot" || event->action == "user_defined" || event->action == "annotate";
  const bool sized = event->size > 0 && event->size < kMostTraceBytes;
  if (!remark && (!sized || event->address < 0 || event->address > kMostTraceBytes))
    return bad_line(number, "address or size out of range", "sizes are 1 to 2^47 bytes");
  return *event;
}

RecordedEvent recorded(const EventLine& line, const TraceHeader& header) {
  const auto index = std::find(kActions.begin(), kActions.end(), line.action) - kActions.begin();
  return {action_from(static_cast<std::size_t>(index)), header.stream_id(line.stream), line.address,
          line.size};
}

/// The text cut at line ends; the last line may lack one.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace

Result<RecordedTrace> parse_trace(std::string_view text) {
  const std::vector<std::string_view> lines = lines_of(text);
  auto header = parse_trace_header(lines.empty() ? "" : lines.front());
  if (!header) return tl::unexpected(header.error());
  std::vector<EventLine> events;
  events.reserve(lines.size());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto event = event_on(lines[i], i + 1);
    if (!event) return tl::unexpected(event.error());
    header->add_stream(event->stream);
    events.push_back(*event);
  }
  if (header->events && *header->events != static_cast<std::int64_t>(events.size()))
    return bad_line(lines.size(),
                    "the trace ends after " + std::to_string(events.size()) + " events",
                    "its header says " + std::to_string(*header->events));
  auto trace = header->trace();
  if (!trace) return trace;
  trace->events.reserve(events.size());
  for (const EventLine& event : events) trace->events.push_back(recorded(event, *header));
  return trace;
}

}  // namespace memtape
