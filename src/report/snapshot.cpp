// SPDX-License-Identifier: Apache-2.0
#include "report/snapshot.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "report/measured_step.h"
#include "report/pickle_writer.h"
#include "report/segment_map.h"
#include "report/why.h"

namespace memtape::report {
namespace {

class SnapshotWriter {
 public:
  explicit SnapshotWriter(const Trace& trace)
      : trace_(trace), step_(measured_step(trace)), last_(step_.last) {
    if (const auto& oom = trace.timeline.out_of_memory) last_ = std::min(last_, oom->event);
    stream_.resize(trace.tape.requested.size());
    for (const Event& e : trace.tape.events)
      if (e.kind == EventKind::alloc) stream_[e.block] = e.stream;
  }

  std::string take() && {
    out_.begin_dict();
    out_.key("device_traces");
    out_.begin_list();
    out_.begin_list();
    write_history();
    out_.end_list();
    out_.end_list();
    out_.key("segments");
    write_segments(segments_, alive_before(trace_.tape, last_));
    out_.key("initial_segments");
    write_segments(initial_, step_.at_start);
    out_.member("initial_events", initial_events_);
    out_.key("allocator_settings");
    write_settings();
    out_.end_dict();
    return std::move(out_).take();
  }

 private:
  bool has_block(BlockId id) const { return size_in_allocator(trace_, id) > 0; }

  void write_history() {
    for (;
         next_change_ < trace_.segments.size() && trace_.segments[next_change_].event < step_.first;
         ++next_change_)
      segments_.apply(trace_.segments[next_change_]);
    initial_ = segments_;
    for (const auto& [address, s] : segments_.segments())
      write_change({step_.first, true, s.small_pool, s.expandable, s.stream, address, s.size});
    for (BlockId id : step_.at_start)
      if (has_block(id)) write_block("alloc", id);
    initial_events_ = time_;
    for (at_ = step_.first; at_ < last_; ++at_) write_event(trace_.tape.events[at_]);
    if (const auto& oom = trace_.timeline.out_of_memory) {
      write_changes_until(oom->event);
      write_out_of_memory(*oom);
    }
  }

  void write_event(const Event& e) {
    write_changes_until(at_);
    const bool of_block = e.kind == EventKind::alloc || e.kind == EventKind::free;
    if (!of_block || !has_block(e.block)) return;
    if (e.kind == EventKind::alloc) return write_block("alloc", e.block);
    write_block("free_requested", e.block);
    write_block("free_completed", e.block);
  }

  void write_changes_until(std::size_t event) {
    for (; next_change_ < trace_.segments.size() && trace_.segments[next_change_].event <= event;
         ++next_change_) {
      segments_.apply(trace_.segments[next_change_]);
      write_change(trace_.segments[next_change_]);
    }
  }

  /// What every entry has; `frames` and the end are the caller's.
  void begin_entry(std::string_view action, std::int64_t address, Bytes size, Category category) {
    out_.begin_dict();
    out_.member("action", action);
    out_.member("addr", address);
    out_.member("size", size);
    // The viewer colours by category, but wants "unknown" to be among them; entries of segments
    // bring it.
    if (!trace_.segments.empty()) out_.member("category", name(category));
    out_.member("time_us", time_++);
  }

  void write_change(const SegmentChange& c) {
    const std::string_view whole = c.taken ? "segment_alloc" : "segment_free";
    const std::string_view part = c.taken ? "segment_map" : "segment_unmap";
    begin_entry(c.expandable ? part : whole, c.address, c.size, Category::unknown);
    out_.member("stream", c.stream);
    out_.key("frames");
    no_frames();
    out_.end_dict();
  }

  void write_block(std::string_view action, BlockId id) {
    begin_entry(action, trace_.addresses[id], trace_.tape.requested[id],
                trace_.tape.why.category(id));
    out_.member("stream", stream_[id]);
    out_.key("frames");
    write_frames(id);
    out_.end_dict();
  }

  void write_out_of_memory(const OutOfMemory& oom) {
    out_.begin_dict();
    out_.member("action", "oom");
    out_.member("device_free", 0);
    out_.member("size", oom.requested);
    out_.member("stream", 0);
    out_.member("category", name(Category::unknown));
    out_.member("time_us", time_++);
    out_.key("frames");
    write_frames(oom.block);
    out_.end_dict();
  }

  void no_frames() {
    out_.begin_list();
    out_.end_list();
  }

  /// Innermost first: the op in its module, why, the modules around it, category and phase.
  void write_frames(BlockId id) {
    const Why why = trace_.tape.why[id];
    const auto key = std::tuple(why.scope, std::string_view(why.op), std::string_view(why.node),
                                why.category, why.phase, why.dtype, why.shape.dims);
    if (const auto known = frames_.find(key); known != frames_.end())
      return out_.recall(known->second);
    const ScopeTree& scopes = trace_.tape.scopes;
    const std::string path = scopes.path(why.scope);
    out_.begin_list();
    write_frame(path, std::string(why.op) + " " + shape_and_dtype(why.shape, why.dtype));
    write_frame("why", why_sentence(why, path));
    for (ScopeId s = why.scope; s != 0; s = scopes.parent(s)) write_module_frame(s);
    write_frame(name(why.category), name(why.phase));
    frames_.emplace(key, out_.end_and_remember_list());
  }

  void write_module_frame(ScopeId scope) {
    if (const auto known = module_frames_.find(scope); known != module_frames_.end())
      return out_.recall(known->second);
    begin_frame(trace_.tape.scopes.path(scope), trace_.tape.scopes.last_name(scope));
    module_frames_.emplace(scope, out_.end_and_remember_dict());
  }

  void write_frame(std::string_view file, std::string_view function) {
    begin_frame(file, function);
    out_.end_dict();
  }

  void begin_frame(std::string_view file, std::string_view function) {
    out_.begin_dict();
    out_.member("filename", file);
    out_.member("name", function);
    out_.member("line", 0);
  }

  void write_segments(const SegmentMap& segments, std::vector<BlockId> blocks) {
    std::erase_if(blocks, [this](BlockId id) { return !has_block(id); });
    std::sort(blocks.begin(), blocks.end(),
              [this](BlockId a, BlockId b) { return trace_.addresses[a] < trace_.addresses[b]; });
    out_.begin_list();
    auto from = blocks.begin();
    for (const auto& [address, segment] : segments.segments()) {
      const auto beyond = [this, end = address + segment.size](BlockId id) {
        return trace_.addresses[id] >= end;
      };
      const auto to = std::find_if(from, blocks.end(), beyond);
      write_segment(address, segment, {from, to});
      from = to;
    }
    out_.end_list();
  }

  void write_segment(std::int64_t address, const Segment& segment,
                     const std::vector<BlockId>& blocks) {
    Bytes allocated = 0, requested = 0;
    for (BlockId id : blocks) {
      allocated += trace_.sizes[id];
      requested += trace_.tape.requested[id];
    }
    out_.begin_dict();
    out_.member("device", 0);
    out_.member("address", address);
    out_.member("total_size", segment.size);
    out_.member("allocated_size", allocated);
    out_.member("active_size", allocated);
    out_.member("requested_size", requested);
    out_.member("stream", segment.stream);
    out_.member("segment_type", segment.small_pool ? "small" : "large");
    out_.key("segment_pool_id");
    out_.pair(0, 0);
    out_.member("is_expandable", segment.expandable);
    out_.key("frames");
    no_frames();
    out_.key("blocks");
    write_blocks(address, segment.size, blocks);
    out_.end_dict();
  }

  /// Live blocks, and the free space around them as inactive ones: together they tile the segment.
  void write_blocks(std::int64_t address, Bytes size, const std::vector<BlockId>& blocks) {
    const std::int64_t end = address + size;
    out_.begin_list();
    for (BlockId id : blocks) {
      write_free(address, trace_.addresses[id] - address);
      begin_block(trace_.addresses[id], trace_.sizes[id], trace_.tape.requested[id],
                  "active_allocated");
      write_frames(id);
      out_.end_dict();
      address = trace_.addresses[id] + trace_.sizes[id];
    }
    write_free(address, end - address);
    out_.end_list();
  }

  void write_free(std::int64_t address, Bytes size) {
    if (size <= 0) return;
    begin_block(address, size, 0, "inactive");
    no_frames();
    out_.end_dict();
  }

  void begin_block(std::int64_t address, Bytes size, Bytes requested, std::string_view state) {
    out_.begin_dict();
    out_.member("address", address);
    out_.member("size", size);
    out_.member("requested_size", requested);
    out_.member("state", state);
    out_.key("frames");
  }

  void write_settings() {
    const bool expandable = std::any_of(trace_.segments.begin(), trace_.segments.end(),
                                        [](const SegmentChange& c) { return c.expandable; });
    out_.begin_dict();
    out_.member("PYTORCH_CUDA_ALLOC_CONF", expandable ? "expandable_segments:True" : "");
    out_.member("expandable_segments", expandable);
    out_.end_dict();
  }

  using FramesKey = std::tuple<ScopeId, std::string_view, std::string_view, Category, Phase, DType,
                               decltype(DisplayShape::dims)>;

  const Trace& trace_;
  MeasuredStep step_;
  std::size_t last_, at_ = 0, next_change_ = 0;
  std::int64_t time_ = 0, initial_events_ = 0;
  SegmentMap segments_, initial_;
  std::vector<StreamId> stream_;  ///< by BlockId
  std::map<FramesKey, PickleWriter::Memo> frames_;
  std::map<ScopeId, PickleWriter::Memo> module_frames_;
  PickleWriter out_;
};

}  // namespace

std::string snapshot(const Trace& trace) { return SnapshotWriter(trace).take(); }

}  // namespace memtape::report
