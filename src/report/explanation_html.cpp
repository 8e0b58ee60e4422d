// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "evidence/flame.h"
#include "evidence/layers.h"
#include "report/explanation.h"
#include "report/html_assets.h"
#include "report/html_page.h"
#include "report/json_parts.h"
#include "report/json_writer.h"

namespace memtape::report {
namespace {

constexpr std::size_t kColumns = 700, kLayers = 40, kMostSegments = 600, kMostBlocks = 30'000;

void write_layers(JsonWriter& out, const Layers& layers) {
  out.key("events");
  out.begin_array();
  for (const std::uint32_t event : layers.events) out.value(static_cast<std::int64_t>(event));
  out.end_array();
  out.key("reserved");
  out.begin_array();
  for (const Bytes bytes : layers.reserved) out.value(bytes);
  out.end_array();
  out.key("layers");
  out.begin_array();
  for (const Layer& layer : layers.layers) {
    out.begin_object();
    out.member("category", name(layer.category));
    out.member("place", layer.place);
    out.key("bytes");
    out.begin_array();
    for (const Bytes bytes : layer.bytes) out.value(bytes);
    out.end_array();
    out.end_object();
  }
  out.end_array();
}

void write_flame(JsonWriter& out, const FlameNode& node) {
  out.begin_object();
  out.member("frame", node.frame);
  out.member("bytes", node.bytes);
  if (!node.children.empty()) {
    out.key("children");
    out.begin_array();
    for (const FlameNode& child : node.children) write_flame(out, child);
    out.end_array();
  }
  out.end_object();
}

/// The segments where it ran out, else at the peak, each with its live blocks as [offset, size,
/// category, place]; the largest where there are too many.
class SegmentMapJson {
 public:
  SegmentMapJson(const ExplainedRecording& r, Stories& stories) : r_(r), stories_(stories) {}

  void write(JsonWriter& out) {
    const HeldMoment moment = shown_moment();
    std::vector<const BlockLife*> alive = r_.held.alive_at(moment);
    std::ranges::sort(alive, {}, &BlockLife::address);
    std::vector<InitialSegment> segments = segments_at(r_.recording, moment);
    out.member(
        "segments_not_shown",
        static_cast<std::int64_t>(segments.size() - std::min(segments.size(), kMostSegments)));
    if (segments.size() > kMostSegments) {
      std::ranges::nth_element(segments, segments.begin() + kMostSegments, std::ranges::greater(),
                               [](const InitialSegment& segment) { return segment.range.size; });
      segments.resize(kMostSegments);
    }
    std::ranges::sort(segments, {}, [](const InitialSegment& s) { return s.range.address; });
    out.member("segments_event", static_cast<std::int64_t>(moment.event));
    out.key("segments");
    out.begin_array();
    for (const InitialSegment& segment : segments) write_segment(out, segment, alive);
    out.end_array();
    write_lines(out, "places", places_);
  }

 private:
  HeldMoment shown_moment() const {
    if (r_.held.ooms.empty()) return r_.held.peak;
    return {r_.held.ooms.front().event, r_.held.ooms.front().levels, false};
  }

  void write_segment(JsonWriter& out, const InitialSegment& segment,
                     const std::vector<const BlockLife*>& alive) {
    out.begin_object();
    out.member("address", static_cast<std::int64_t>(segment.range.address));
    out.member("size", segment.range.size);
    out.member("is_small", segment.is_small);
    out.member("is_expandable", segment.is_expandable);
    out.key("blocks");
    out.begin_array();
    auto block = std::ranges::lower_bound(alive, segment.range.address, {}, &BlockLife::address);
    for (; block != alive.end() && (*block)->address < segment.range.end(); ++block) {
      if (++blocks_ > kMostBlocks) break;
      write_block(out, segment, **block);
    }
    out.end_array();
    out.end_object();
  }

  void write_block(JsonWriter& out, const InitialSegment& segment, const BlockLife& block) {
    const StackStory& story = stories_.of(block.stack);
    out.begin_array();
    out.value(static_cast<std::int64_t>(block.address - segment.range.address));
    out.value(block.size);
    out.value(name(stories_.category_of(block)));
    out.value(place(story.asker()));
    out.end_array();
  }

  std::int64_t place(const std::string& text) {
    const auto found = std::ranges::find(places_, text);
    if (found != places_.end()) return found - places_.begin();
    places_.push_back(text);
    return static_cast<std::int64_t>(places_.size()) - 1;
  }

  const ExplainedRecording& r_;
  Stories& stories_;
  std::vector<std::string> places_;
  std::size_t blocks_ = 0;
};

void write_moment(JsonWriter& out, std::string_view key, const HeldMoment& moment) {
  out.key(key);
  out.begin_object();
  out.member("event", static_cast<std::int64_t>(moment.event));
  out.member("requested", moment.levels.requested);
  out.member("allocated", moment.levels.allocated);
  out.member("reserved", moment.levels.reserved);
  out.end_object();
}

void write_shown_remedies(JsonWriter& out, const std::vector<Remedy>& remedies) {
  out.key("remedies");
  out.begin_array();
  for (const Remedy& remedy : remedies) {
    out.begin_object();
    out.member("change", remedy.change);
    out.member("effect", remedy.effect);
    out.end_object();
  }
  out.end_array();
}

void write_drawn_recording(JsonWriter& out, const ExplainedRecording& r) {
  Stories stories(*r.recording.stacks);
  out.begin_object();
  out.member("name", r.recording.name);
  out.member("device", r.recording.device);
  out.member("is_exact", r.held.is_exact);
  out.member("last_event", static_cast<std::int64_t>(r.recording.trace.events.size()));
  write_moment(out, "peak", r.held.peak);
  write_moment(out, "peak_reserved", r.held.peak_reserved);
  write_moment(out, "end", r.held.end);
  out.key("ooms");
  out.begin_array();
  for (const HeldOom& oom : r.held.ooms) {
    out.begin_object();
    out.member("event", static_cast<std::int64_t>(oom.event));
    out.member("requested", oom.requested);
    out.member("device_free", oom.device_free);
    out.end_object();
  }
  out.end_array();
  out.member("oom_place", r.oom_place);
  write_layers(out, layers_of(r.recording, r.held, stories, kColumns, kLayers));
  const Bytes least = r.held.peak.levels.allocated / 1000;
  out.key("flame");
  write_flame(out, flame_of(r.at_peak, stories, least));
  SegmentMapJson(r, stories).write(out);
  write_shown_remedies(out, r.remedies);
  out.end_object();
}

/// The predicted step where it begins in the recording: [event, allocated] of its allocations, the
/// k-th of them being the recording's k-th from there on.
void write_prediction(JsonWriter& out, const Explanation& e, const Recording& recording) {
  out.key("prediction");
  out.begin_object();
  out.member("words", e.against);
  out.member("peak_allocated", e.predicted_peak.allocated);
  out.member("peak_reserved", e.predicted_peak.reserved);
  out.member("difference", e.step_difference);
  const std::size_t found = std::min(e.step_allocations_found, e.predicted_step.size());
  const std::size_t every = std::max<std::size_t>(1, found / (2 * kColumns));
  out.key("step");
  out.begin_array();
  std::size_t at = e.step_event;
  for (std::size_t k = 0; k < found && at < recording.trace.events.size(); ++at) {
    if (recording.trace.events[at].action != TraceAction::alloc) continue;
    if (k % every == 0) {
      out.begin_array();
      out.value(static_cast<std::int64_t>(at));
      out.value(e.predicted_step[k]);
      out.end_array();
    }
    ++k;
  }
  out.end_array();
  out.end_object();
}

void write_residual(JsonWriter& out, const Explanation& e) {
  out.key("residual");
  out.begin_array();
  for (const Residual& residual : *e.residual) {
    out.begin_object();
    out.member("cause", residual.cause);
    out.member("bytes", residual.bytes);
    out.member("where", residual.where);
    out.end_object();
  }
  out.end_array();
}

}  // namespace

std::string html(const Explanation& e) {
  JsonWriter out(JsonWriter::Layout::compact);
  out.begin_object();
  out.member("kind", e.kind);
  write_lines(out, "files", e.files);
  out.key("recordings");
  out.begin_array();
  for (const ExplainedRecording& recording : e.recordings) write_drawn_recording(out, recording);
  out.end_array();
  if (e.residual && !e.recordings.empty()) {
    const auto fullest = std::ranges::max_element(
        e.recordings, {}, [](const ExplainedRecording& r) { return r.held.peak.levels.allocated; });
    out.member("laid_beside", static_cast<std::int64_t>(fullest - e.recordings.begin()));
    write_prediction(out, e, fullest->recording);
    write_residual(out, e);
  }
  write_lines(out, "warnings", e.warnings);
  out.end_object();
  return html_page(kExplanationPage, kExplanationScript, std::move(out).take());
}

}  // namespace memtape::report
