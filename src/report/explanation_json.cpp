// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/explanation.h"
#include "report/json_parts.h"

namespace memtape::report {
namespace {

void write_held_levels(JsonWriter& out, std::string_view prefix, const HeldMoment& m,
                       bool has_event) {
  write(out, prefix, m.levels);
  if (has_event) out.member(fmt::format("{}_event", prefix), std::int64_t{m.event});
}

void write_categories(JsonWriter& out, const CategoryBytes& categories) {
  out.key("at_peak");
  out.begin_object();
  for (std::size_t i = 0; i < kCategories; ++i)
    if (categories.bytes[i] != 0) out.member(kCategoryNames[i], categories.bytes[i]);
  out.end_object();
}

void write_largest(JsonWriter& out, const ExplainedRecording& r) {
  out.key("largest");
  out.begin_array();
  for (std::size_t i = 0; i < r.largest_places.size(); ++i) {
    const HeldGroup& g = r.at_peak.groups[i];
    out.begin_object();
    out.member("category", name(g.category));
    out.member("place", r.largest_places[i]);
    out.member("op", r.largest_ops[i]);
    out.member("count", g.count);
    out.member("requested_bytes", g.requested);
    out.member("bytes", g.bytes);
    write_lines(out, "stack", r.largest_stacks[i]);
    out.end_object();
  }
  out.end_array();
}

void write_fragmentation(JsonWriter& out, const Fragmentation& f) {
  out.key("fragmentation");
  out.begin_object();
  out.member("event", std::int64_t{f.event});
  out.member("segments", static_cast<std::int64_t>(f.segments));
  out.member("free_bytes", f.free);
  out.member("largest_hole_bytes", f.largest_hole);
  out.member("releasable_bytes", f.releasable);
  out.member("half_empty_segments", static_cast<std::int64_t>(f.half_empty));
  out.key("pinned");
  out.begin_array();
  for (const PinnedSegment& s : f.pinned) {
    out.begin_object();
    out.member("size_bytes", s.size);
    out.member("used_bytes", s.used);
    out.member("largest_hole_bytes", s.largest_hole);
    out.member("live_blocks", static_cast<std::int64_t>(s.live_blocks));
    out.member("expandable", s.is_expandable);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

void write_leaks(JsonWriter& out, const ExplainedRecording& r) {
  out.member("steps", static_cast<std::int64_t>(r.steps.begin.size()));
  out.key("leaks");
  out.begin_array();
  for (std::size_t i = 0; i < r.leaks.size(); ++i) {
    out.begin_object();
    out.member("place", r.leak_places[i]);
    out.member("requested_bytes", r.leaks[i].requested);
    out.member("count", r.leaks[i].count);
    out.member("bytes", r.leaks[i].bytes);
    out.key("per_step");
    out.raw(fmt::format("{:.2f}", r.leaks[i].per_step));
    out.end_object();
  }
  out.end_array();
}

void write_what_ifs(JsonWriter& out, const std::vector<WhatIf>& what_ifs) {
  out.key("replayed");
  out.begin_array();
  for (const WhatIf& w : what_ifs) {
    out.begin_object();
    out.member("setting", w.setting);
    out.member("peak_allocated_bytes", w.peak.allocated);
    out.member("peak_reserved_bytes", w.peak.reserved);
    out.member("num_alloc_retries", w.retries);
    member_or_null(out, "serves", w.serves);
    out.end_object();
  }
  out.end_array();
}

void write_advice(JsonWriter& out, const std::vector<Remedy>& remedies) {
  out.key("advice");
  out.begin_array();
  for (const Remedy& remedy : remedies) {
    out.begin_object();
    out.member("change", remedy.change);
    out.member("effect", remedy.effect);
    member_or_null(out, "bytes", remedy.bytes);
    out.member("is_enough", remedy.is_enough);
    out.end_object();
  }
  out.end_array();
}

void write_recording(JsonWriter& out, const ExplainedRecording& r) {
  out.member("name", r.recording.name);
  out.member("gpu", r.recording.device);
  out.member("events", static_cast<std::int64_t>(r.recording.trace.events.size()));
  out.member("exact", r.held.is_exact);
  write_held_levels(out, "start", r.held.start, false);
  write_held_levels(out, "peak", r.held.peak, true);
  write_held_levels(out, "end", r.held.end, false);
  write_categories(out, r.at_peak.categories);
  out.member("rounding_bytes", r.at_peak.rounding);
  write_largest(out, r);
  write_fragmentation(out, r.fragmentation);
  write_leaks(out, r);
  write_what_ifs(out, r.what_ifs);
  if (!r.held.ooms.empty()) {
    const HeldOom& oom = r.held.ooms.front();
    out.key("oom");
    out.begin_object();
    out.member("event", std::int64_t{oom.event});
    out.member("requested_bytes", oom.requested);
    out.member("free_bytes", oom.device_free);
    out.member("allocated_bytes", oom.levels.allocated);
    out.member("reserved_unallocated_bytes", oom.levels.reserved - oom.levels.allocated);
    out.member("place", r.oom_place);
    out.end_object();
  }
  write_advice(out, r.remedies);
}

void write_quantity(JsonWriter& out, std::string_view key, const std::optional<Quantity>& q) {
  member_or_null(out, key, q ? std::optional(q->bytes) : std::nullopt);
}

void write_count(JsonWriter& out, std::string_view key, const std::optional<std::int64_t>& n) {
  if (n) out.member(key, *n);
}

void write_oom(JsonWriter& out, const OomMessage& m) {
  out.begin_object();
  out.member("wording", name(m.wording));
  out.member("line", static_cast<std::int64_t>(m.line));
  out.member("times", static_cast<std::int64_t>(m.times));
  out.member("backend", m.backend);
  member_or_null(out, "gpu", m.gpu);
  write_quantity(out, "requested_bytes", m.requested);
  write_quantity(out, "device_bytes", m.device);
  write_quantity(out, "free_bytes", m.free);
  write_quantity(out, "process_bytes", m.process);
  write_quantity(out, "allocated_bytes", m.allocated);
  write_quantity(out, "reserved_unallocated_bytes", m.unallocated);
  if (m.allowed) write_quantity(out, "allowed_bytes", m.allowed);
  if (m.private_pools) write_quantity(out, "private_pool_bytes", m.private_pools);
  if (m.cache_needed) write_quantity(out, "cache_needed_bytes", m.cache_needed);
  if (m.cache_available) write_quantity(out, "cache_available_bytes", m.cache_available);
  if (m.desired) write_quantity(out, "desired_bytes", m.desired);
  write_count(out, "model_length", m.model_length);
  write_count(out, "cache_tokens", m.cache_tokens);
  write_count(out, "estimated_length", m.estimated_length);
  out.key("other_processes");
  out.begin_array();
  for (const auto& [pid, held] : m.other_processes) {
    out.begin_object();
    out.member("pid", pid);
    out.member("bytes", held.bytes);
    out.end_object();
  }
  out.end_array();
  if (m.least_fraction) {
    out.key("least_fraction");
    out.raw(fmt::format("{}", *m.least_fraction));
  }
  if (!m.server.empty()) out.member("server", m.server);
  if (!m.during.empty()) out.member("during", m.during);
  if (!m.buffer.empty()) out.member("buffer", m.buffer);
  if (!m.part.empty()) out.member("part", m.part);
  out.member("place", m.place);
  out.end_object();
}

void write_message(JsonWriter& out, const ExplainedMessage& e) {
  out.key("oom");
  write_oom(out, e.message);
  write_lines(out, "findings", e.findings);
  write_advice(out, e.remedies);
}

void write_figure(JsonWriter& out, const LogFigure& f) {
  const auto number = [&](std::string_view key, double value) {
    out.key(key);
    if (f.unit == LogFigure::Unit::ratio)
      out.raw(fmt::format("{}", value));
    else
      out.value(static_cast<std::int64_t>(std::llround(value)));
  };
  out.begin_object();
  out.member("program", f.program);
  out.member("name", f.name);
  out.member("where", f.where);
  out.member("unit", f.unit == LogFigure::Unit::bytes   ? "bytes"
                     : f.unit == LogFigure::Unit::count ? "count"
                                                        : "ratio");
  number("first", f.first);
  number("last", f.last);
  number("highest", f.highest);
  out.member("times", f.times);
  out.member("line", static_cast<std::int64_t>(f.line));
  out.end_object();
}

/// The first recording or message also stands at the top, where scripts that explain one file look.
void write_first(JsonWriter& out, const Explanation& e) {
  if (!e.recordings.empty())
    write_recording(out, e.recordings.front());
  else if (!e.messages.empty())
    write_message(out, e.messages.front());
}

}  // namespace

std::string json(const Explanation& e) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.member("schema", "memtape/1");
  out.member("command", "explain");
  out.member("kind", e.kind);
  write_lines(out, "files", e.files);
  write_first(out, e);
  out.key("recordings");
  out.begin_array();
  for (const ExplainedRecording& recording : e.recordings) {
    out.begin_object();
    write_recording(out, recording);
    out.end_object();
  }
  out.end_array();
  out.key("messages");
  out.begin_array();
  for (const ExplainedMessage& message : e.messages) {
    out.begin_object();
    write_message(out, message);
    out.end_object();
  }
  out.end_array();
  out.key("figures");
  out.begin_array();
  for (const LogFigure& f : e.figures) write_figure(out, f);
  out.end_array();
  if (e.residual) {
    out.member("against", e.against);
    out.member("predicted_peak_allocated_bytes", e.predicted_peak.allocated);
    out.member("predicted_peak_reserved_bytes", e.predicted_peak.reserved);
    out.member("step_allocations", static_cast<std::int64_t>(e.step_allocations));
    out.member("step_allocations_found", static_cast<std::int64_t>(e.step_allocations_found));
    out.member("step_difference", e.step_difference);
    out.key("residual");
    out.begin_array();
    for (const Residual& r : *e.residual) {
      out.begin_object();
      out.member("cause", r.cause);
      out.member("bytes", r.bytes);
      out.member("where", r.where);
      out.end_object();
    }
    out.end_array();
  }
  write_lines(out, "warnings", e.warnings);
  out.end_object();
  return std::move(out).take();
}

}  // namespace memtape::report
