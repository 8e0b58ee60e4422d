// SPDX-License-Identifier: Apache-2.0
#include "formats/trace_header.h"

#include <algorithm>
#include <limits>

#include "allocator/allocator_of_release.h"
#include "base/json_reader.h"

namespace memtape {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr std::int64_t kMostDivisions = 1 << 20;

std::int64_t whole(JsonReader& json) {
  const auto value = json.number().integer;
  if (!value) json.fail("expected a whole number");
  return value.value_or(0);
}

std::int64_t whole_within(JsonReader& json, std::int64_t low, std::int64_t high) {
  const std::int64_t value = whole(json);
  if (value < low || value > high) json.fail("an address or size out of range");
  return std::clamp(value, low, high);
}

Address address(JsonReader& json) { return whole_within(json, 0, kMostTraceBytes); }

/// Where the driver can have put something.
Address driver_page(JsonReader& json) {
  const Address at = address(json);
  if (at % kDriverPage != 0) json.fail("an address that is no multiple of 2 MiB");
  return at;
}

double fraction(JsonReader& json) {
  const double value = json.number().real;
  if (!(value >= 0 && value <= 1)) json.fail("a fraction that is not between 0 and 1");
  return value;
}

Bytes block_multiple(JsonReader& json) {
  const Bytes size = whole_within(json, 1, kMostTraceBytes);
  if (size % kMinBlockSize != 0) json.fail("a size that is no multiple of 512 bytes");
  return size;
}

/// Steps to the next item of the array entered last, which must have one.
void next_item(JsonReader& json) {
  if (!json.item()) json.fail("expected another item");
}

void end_array(JsonReader& json) {
  while (json.item()) json.skip();
}

/// [address, size] is live; [address, size, requested, state] is live unless its state is
/// "inactive".
std::optional<AddressRange> read_live_block(JsonReader& json) {
  AddressRange range;
  bool live = true;
  json.enter_array();
  next_item(json);
  range.address = address(json);
  next_item(json);
  range.size = block_multiple(json);
  if (json.item()) {
    json.skip();
    next_item(json);
    live = json.text() != "inactive";
    end_array(json);
  }
  return live ? std::optional(range) : std::nullopt;
}

void check_blocks(JsonReader& json, const InitialSegment& segment) {
  Address at = segment.range.address;
  for (const AddressRange& block : segment.blocks) {
    if (block.address < at || block.end() > segment.range.end())
      json.fail("blocks that overlap or leave their segment");
    at = block.end();
  }
}

TraceHeader::Segment read_segment(JsonReader& json) {
  TraceHeader::Segment read;
  InitialSegment& segment = read.segment;
  json.enter_array();
  next_item(json);
  segment.range.address = driver_page(json);
  next_item(json);
  segment.range.size = block_multiple(json);
  next_item(json);
  read.stream = whole(json);
  next_item(json);
  segment.is_small = json.text() == "small";
  next_item(json);
  segment.is_expandable = json.boolean();
  next_item(json);
  json.enter_array();
  while (json.item())
    if (const auto block = read_live_block(json)) segment.blocks.push_back(*block);
  check_blocks(json, segment);
  end_array(json);
  return read;
}

std::vector<TraceHeader::Segment> read_segments(JsonReader& json) {
  std::vector<TraceHeader::Segment> segments;
  if (json.next() == JsonKind::null) return json.null(), segments;
  json.enter_array();
  while (json.item()) segments.push_back(read_segment(json));
  std::sort(segments.begin(), segments.end(), [](const auto& a, const auto& b) {
    return a.segment.range.address < b.segment.range.address;
  });
  for (std::size_t i = 1; i < segments.size(); ++i)
    if (segments[i].segment.range.address < segments[i - 1].segment.range.end())
      json.fail("segments that overlap");
  return segments;
}

/// {"1": 4, "2": 4, ...}: divisions by the size in MiB from which they hold.
void read_divisions(JsonReader& json, AllocatorConfig& config) {
  if (json.next() != JsonKind::object) return json.skip();
  json.enter_object();
  for (std::size_t i = 0; json.key(); ++i) {
    const auto divisions = whole_within(json, 0, kMostDivisions);
    if ((divisions & (divisions - 1)) != 0) json.fail("divisions that are no power of two");
    if (i < AllocatorConfig::kRoundupIntervals)
      config.set_roundup_power2_divisions(i, i, static_cast<std::uint32_t>(divisions));
  }
}

/// allocator_settings of the snapshot. The text is PyTorch's own; where another version of it has
/// keys that this one does not know, the fields beside it hold what matters.
void read_allocator_settings(JsonReader& json, AllocatorConfig& config) {
  if (json.next() == JsonKind::null) return json.null();
  json.enter_object();
  while (const auto key = json.key()) {
    if (*key == "PYTORCH_CUDA_ALLOC_CONF" && json.next() == JsonKind::text) {
      if (const auto parsed = AllocatorConfig::parse(json.text())) config = *parsed;
    } else if (*key == "max_split_size") {
      if (const std::int64_t size = whole(json); size > 0) config.max_split_size = size;
    } else if (*key == "garbage_collection_threshold") {
      config.garbage_collection_threshold = fraction(json);
    } else if (*key == "expandable_segments") {
      config.expandable_segments = json.boolean();
    } else if (*key == "roundup_power2_divisions") {
      read_divisions(json, config);
    } else {
      json.skip();
    }
  }
}

/// {"total": bytes, "outside": bytes not the allocator's, "fraction": of
/// set_per_process_memory_fraction, or null}
void read_device_memory(JsonReader& json, TraceHeader& header) {
  json.enter_object();
  while (const auto key = json.key()) {
    if (*key == "total") {
      header.memory.total = whole_within(json, 1, kMostTraceBytes);
    } else if (*key == "outside") {
      header.memory.outside = whole_within(json, 0, kMostTraceBytes);
    } else if (*key == "fraction" && json.next() == JsonKind::number) {
      header.config.per_process_memory_fraction = fraction(json);
    } else {
      json.skip();
    }
  }
}

std::string text_or_nothing(JsonReader& json) {
  if (json.next() == JsonKind::text) return json.text();
  json.skip();
  return {};
}

void read_field(JsonReader& json, std::string_view key, TraceHeader& header) {
  if (key == "format") {
    if (whole(json) != kFormat) json.fail("a format other than 1");
  } else if (key == "name") {
    header.name = text_or_nothing(json);
  } else if (key == "torch") {
    header.torch = text_or_nothing(json);
  } else if (key == "base") {
    header.base = driver_page(json);
  } else if (key == "settings") {
    read_allocator_settings(json, header.config);
  } else if (key == "device_memory") {
    read_device_memory(json, header);
  } else if (key == "streams") {
    json.enter_array();
    while (json.item()) header.add_stream(whole(json));
  } else if (key == "events") {
    header.events = whole(json);
  } else if (key == "initial") {
    header.initial = read_segments(json);
  } else if (key == "segments") {
    header.final_segments = read_segments(json);
  } else {
    json.skip();
  }
}

}  // namespace

void TraceHeader::add_stream(std::int64_t handle) {
  const auto at = std::lower_bound(streams_.begin(), streams_.end(), handle);
  if (at == streams_.end() || *at != handle) streams_.insert(at, handle);
}

StreamId TraceHeader::stream_id(std::int64_t handle) const {
  return static_cast<StreamId>(std::lower_bound(streams_.begin(), streams_.end(), handle) -
                               streams_.begin());
}

std::vector<InitialSegment> TraceHeader::with_stream_ids(
    const std::vector<Segment>& segments) const {
  std::vector<InitialSegment> result;
  for (const Segment& read : segments) {
    result.push_back(read.segment);
    result.back().stream = stream_id(read.stream);
  }
  return result;
}

Result<RecordedTrace> TraceHeader::trace() const {
  if (streams_.size() > std::size_t{std::numeric_limits<StreamId>::max()} + 1)
    return unsupported("a trace of more than 256 streams", "line 1");
  RecordedTrace trace{name,        torch, base, config, memory, {}, with_stream_ids(initial),
                      std::nullopt};
  if (final_segments) trace.final_segments = with_stream_ids(*final_segments);
  if (const auto version = Version::parse(torch)) {
    Release release;
    release.set(Package::torch, *version);
    trace.config.equal_blocks = equal_blocks_of(release);
  }
  return trace;
}

Result<TraceHeader> parse_trace_header(std::string_view line) {
  TraceHeader header;
  JsonReader json(line);
  bool has_format = false;
  if (json.enter_object())
    while (const auto key = json.key()) {
      has_format |= *key == "format";
      read_field(json, *key, header);
    }
  json.finish();
  if (!json.failed() && !has_format) json.fail("no \"format\"");
  if (json.failed())
    return bad_input(json.problem(), "header",
                     "the first line of a trace is a JSON object with \"format\": 1");
  for (const auto& segment : header.initial) header.add_stream(segment.stream);
  if (header.final_segments)
    for (const auto& segment : *header.final_segments) header.add_stream(segment.stream);
  return header;
}

}  // namespace memtape
