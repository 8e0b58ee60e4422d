// SPDX-License-Identifier: Apache-2.0
#include "evidence/pickle_objects.h"

#include <algorithm>
#include <limits>

namespace memtape {
namespace {

using PickleKind = PickleValue::Kind;

constexpr std::size_t kLongestShared = 512;  ///< lists of stacks are shorter
constexpr std::size_t kMostShapes = 64;
constexpr std::uint64_t kMostFirst = (std::uint64_t{1} << 40) - 1;
constexpr std::size_t kMostStreams = 4096;

constexpr std::array<std::string_view, 11> kActions{
    "alloc",        "free_requested", "free_completed", "segment_alloc",
    "segment_free", "segment_map",    "segment_unmap",  "oom",
    "snapshot",     "user_defined",   "annotate"};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  return hash * 0xff51afd7ed558ccdULL;
}

std::uint64_t hash_of(std::span<const PickleValue> values) {
  std::uint64_t hash = values.size();
  for (const PickleValue& v : values)
    hash = mixed(
        hash, static_cast<std::uint64_t>(v.payload()) * 16 + static_cast<std::uint64_t>(v.kind()));
  return hash;
}

template <class T>
std::size_t bytes_of(const std::vector<T>& items) {
  return items.capacity() * sizeof(T);
}

}  // namespace

PickleObjects::PickleObjects() { text_ids_.emplace(std::string_view(), 0); }

PickleValue PickleObjects::text(std::string_view words) {
  if (const auto known = text_ids_.find(words); known != text_ids_.end())
    return {PickleKind::text, known->second};
  const auto id = static_cast<TextId>(stacks_.texts.size());
  stacks_.texts.emplace_back(words);
  text_ids_.emplace(stacks_.texts.back(), id);
  text_bytes_ += words.size() + 128;
  return {PickleKind::text, id};
}

PickleValue PickleObjects::new_dict() {
  dicts_.push_back({});
  return {PickleKind::dict, static_cast<std::int64_t>(dicts_.size() - 1)};
}

PickleValue PickleObjects::new_list() {
  lists_.push_back({});
  return {PickleKind::list, static_cast<std::int64_t>(lists_.size() - 1)};
}

PickleValue PickleObjects::tuple(Values items) {
  lists_.push_back({});
  extend(lists_.back(), items);
  return {PickleKind::tuple, static_cast<std::int64_t>(lists_.size() - 1)};
}

/// A run grows where it stands while it has room or is the last one; else it moves to the end and
/// gets room for as much again, so that long lists are not copied for every batch.
void PickleObjects::extend(Run& run, Values items) {
  const auto count = static_cast<std::uint32_t>(items.size());
  const bool is_last = run.first + run.capacity == values_.size();
  const bool has_room = !run.is_shared && run.capacity - run.count >= count;
  if (!has_room && (run.is_shared || !is_last || run.count == 0)) {
    const std::uint64_t first = values_.size();
    const std::uint32_t capacity = run.count == 0 ? count : 2 * (run.count + count);
    values_.resize(first + capacity);
    for (std::uint32_t i = 0; i < run.count; ++i) values_[first + i] = values_[run.first + i];
    run.first = first & kMostFirst;
    run.capacity = capacity;
    run.is_shared = false;
  } else if (!has_room) {
    run.capacity = run.count + count;
    values_.resize(run.first + run.capacity);
  }
  std::ranges::copy(items, values_.begin() + static_cast<std::ptrdiff_t>(run.first + run.count));
  run.count += count;
}

/// Whether all items are events that follow those of the run; then only their numbers are kept.
bool PickleObjects::extend_events(Run& run, Values items) {
  if (run.count > 0 && !run.is_events) return false;
  const Value first = resolved(items.front());
  if (!first.is(PickleKind::event)) return false;
  std::uint64_t expected = run.count > 0 ? run.first + run.count : first.index();
  for (const Value& item : items) {
    const Value value = resolved(item);
    if (!value.is(PickleKind::event) || value.index() != expected++) return false;
  }
  if (run.count == 0) run.first = first.index() & kMostFirst;
  run.is_events = true;
  run.count += static_cast<std::uint32_t>(items.size());
  return true;
}

/// Equal short lists share their items: most events of a program have one of few stacks.
void PickleObjects::share(Run& run) {
  if (run.first + run.capacity != values_.size()) return;
  const Values own(values_.data() + run.first, run.count);
  const std::uint64_t hash = hash_of(own);
  const auto [from, to] = short_lists_.equal_range(hash);
  for (auto at = from; at != to; ++at) {
    const Values other(values_.data() + at->second.first, at->second.count);
    if (!std::ranges::equal(own, other)) continue;
    values_.resize(run.first);
    run = at->second;
    return;
  }
  run.is_shared = true;
  short_lists_.emplace(hash, run);
}

void PickleObjects::append(Value list, Values items) {
  if (items.empty()) return;
  Run& run = lists_[list.index()];
  if (extend_events(run, items)) return;
  if (run.is_events) {  // a list of events and others: each event by its number
    std::vector<Value> events;
    for (std::uint32_t i = 0; i < run.count; ++i)
      events.push_back({PickleKind::event, static_cast<std::int64_t>(run.first + i)});
    run = {};
    extend(run, events);
  }
  const bool was_empty = run.count == 0;
  extend(run, items);
  const bool of_frames = resolved(items.front()).is(PickleKind::frame);
  if (was_empty && of_frames && items.size() <= kLongestShared) share(run);
}

PickleObjects::Field PickleObjects::field_of(Value key) const {
  struct Name {
    std::string_view name;
    Field field;
  };
  static constexpr std::array<Name, 15> kNames{{{"action", Field::action},
                                                {"addr", Field::addr},
                                                {"address", Field::addr},
                                                {"device_free", Field::addr},
                                                {"size", Field::size},
                                                {"stream", Field::stream},
                                                {"time_us", Field::time_us},
                                                {"frames", Field::frames},
                                                {"category", Field::category},
                                                {"filename", Field::filename},
                                                {"name", Field::name},
                                                {"line", Field::line},
                                                {"state", Field::state},
                                                {"requested_size", Field::requested_size},
                                                {"history", Field::history}}};
  const std::string_view words = text_of(key);
  const auto* found = std::ranges::find(kNames, words, &Name::name);
  return found == kNames.end() ? Field::ignored : found->field;
}

PickleObjects::Role PickleObjects::role_of(const std::vector<Value>& keys) const {
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(keys, [&](Value key) { return text_of(key) == name; });
  };
  if (has("action") && has("size")) return Role::event;
  if (has("filename") && has("line")) return Role::frame;
  if (has("state") && has("size")) return Role::block;
  return Role::dict;
}

const PickleObjects::Shape& PickleObjects::shape_of(Values pairs) {
  const auto fits = [&](const Shape& shape) {
    if (shape.keys.size() * 2 != pairs.size()) return false;
    for (std::size_t i = 0; i < shape.keys.size(); ++i)
      if (shape.keys[i] != pairs[2 * i]) return false;
    return true;
  };
  if (last_shape_ != nullptr && fits(*last_shape_)) return *last_shape_;
  for (const Shape& shape : shapes_)
    if (fits(shape)) return *(last_shape_ = &shape);
  if (shapes_.size() >= kMostShapes) shapes_.pop_back();
  Shape shape;
  for (std::size_t i = 0; i < pairs.size(); i += 2) {
    shape.keys.push_back(pairs[i]);
    shape.fields.push_back(field_of(pairs[i]));
  }
  shape.role = role_of(shape.keys);
  shapes_.push_back(std::move(shape));
  return *(last_shape_ = &shapes_.back());
}

std::uint16_t PickleObjects::stream_index(std::int64_t handle) {
  for (std::size_t i = 0; i < streams_.size(); ++i)
    if (streams_[i] == handle) return static_cast<std::uint16_t>(i);
  if (streams_.size() >= kMostStreams) return 0;
  streams_.push_back(handle);
  return static_cast<std::uint16_t>(streams_.size() - 1);
}

std::uint8_t PickleObjects::category_of(Value value) const {
  const auto found = std::ranges::find(kCategoryNames, text_of(value));
  if (!value.is(PickleKind::text) || found == kCategoryNames.end()) return 0;
  return static_cast<std::uint8_t>(1 + (found - kCategoryNames.begin()));
}

PickleValue PickleObjects::event_from(const Shape& shape, Values pairs) {
  SnapshotEvent event;
  for (std::size_t i = 0; i < shape.fields.size(); ++i) {
    const Value value = pairs[2 * i + 1];
    switch (shape.fields[i]) {
      case Field::action: {
        const auto known = std::ranges::find(kActions, text_of(value));
        if (known == kActions.end()) ++unknown_actions_;
        const auto index = static_cast<std::size_t>(known - kActions.begin());
        event.action = static_cast<TraceAction>(
            std::min(index, static_cast<std::size_t>(TraceAction::remark)));
        break;
      }
      case Field::addr: event.address = number_of(value); break;
      case Field::size: event.size = number_of(value); break;
      case Field::stream: event.stream = stream_index(number_of(value)); break;
      case Field::time_us: event.time_us = number_of(value); break;
      case Field::frames: event.stack = stack_of(value); break;
      case Field::category: event.category = category_of(value); break;
      default: break;
    }
  }
  events_.push_back(event);
  return {PickleKind::event, static_cast<std::int64_t>(events_.size() - 1)};
}

PickleValue PickleObjects::frame_from(const Shape& shape, Values pairs) {
  StackFrame frame;
  for (std::size_t i = 0; i < shape.fields.size(); ++i) {
    const Value value = pairs[2 * i + 1];
    if (shape.fields[i] == Field::filename && value.is(PickleKind::text))
      frame.file = static_cast<TextId>(value.index());
    if (shape.fields[i] == Field::name && value.is(PickleKind::text))
      frame.function = static_cast<TextId>(value.index());
    if (shape.fields[i] == Field::line) frame.line = static_cast<std::int32_t>(number_of(value));
  }
  const std::uint64_t hash =
      mixed(mixed(frame.file, frame.function), static_cast<std::uint64_t>(frame.line));
  const auto [from, to] = frame_ids_.equal_range(hash);
  for (auto at = from; at != to; ++at)
    if (stacks_.frames[at->second] == frame) return {PickleKind::frame, at->second};
  stacks_.frames.push_back(frame);
  const auto id = static_cast<FrameId>(stacks_.frames.size() - 1);
  frame_ids_.emplace(hash, id);
  return {PickleKind::frame, id};
}

/// torch 2.0 writes the stack of a block into its "history".
StackId PickleObjects::stack_of_history(Value list) {
  const Values entries = items(list);
  return entries.empty() ? 0 : stack_of(at(entries.front(), "frames"));
}

PickleValue PickleObjects::block_from(const Shape& shape, Values pairs) {
  SnapshotBlock block;
  block.address = -1;
  bool says_requested = false;
  for (std::size_t i = 0; i < shape.fields.size(); ++i) {
    const Value value = pairs[2 * i + 1];
    switch (shape.fields[i]) {
      case Field::addr: block.address = number_of(value); break;
      case Field::size: block.size = number_of(value); break;
      case Field::requested_size:
        block.requested = number_of(value);
        says_requested = true;
        break;
      case Field::state: {
        const std::string_view state = text_of(value);
        block.state = state == "active_allocated" ? SnapshotBlock::State::allocated
                      : state == "inactive"       ? SnapshotBlock::State::inactive
                                                  : SnapshotBlock::State::pending_free;
        break;
      }
      case Field::frames: block.stack = stack_of(value); break;
      case Field::history: block.stack = stack_of_history(value); break;
      default: break;
    }
  }
  if (!says_requested) block.requested = block.size;
  blocks_.push_back(block);
  return {PickleKind::block, static_cast<std::int64_t>(blocks_.size() - 1)};
}

void PickleObjects::set_items(Value dict, Values pairs) {
  if (pairs.empty()) return;
  Value& slot = dicts_[dict.index()];
  if (slot.is(PickleKind::none)) {
    const Shape& shape = shape_of(pairs);
    switch (shape.role) {
      case Role::event: slot = event_from(shape, pairs); return;
      case Role::frame: slot = frame_from(shape, pairs); return;
      case Role::block: slot = block_from(shape, pairs); return;
      case Role::dict:
        runs_.push_back({});
        slot = {PickleKind::dict, static_cast<std::int64_t>(runs_.size() - 1)};
    }
  }
  if (slot.is(PickleKind::dict)) extend(runs_[slot.index()], pairs);
}

PickleValue PickleObjects::resolved(Value value) const {
  if (!value.is(PickleKind::dict)) return value;
  const Value slot = dicts_[value.index()];
  return slot.is(PickleKind::dict) || slot.is(PickleKind::none) ? value : slot;
}

PickleObjects::Values PickleObjects::items(Value list) const {
  if (!list.is(PickleKind::list) && !list.is(PickleKind::tuple)) return {};
  const Run& run = lists_[list.index()];
  return run.is_events ? Values() : Values(values_.data() + run.first, run.count);
}

std::optional<std::pair<std::size_t, std::size_t>> PickleObjects::events_of(Value list) const {
  if (!list.is(PickleKind::list)) return std::nullopt;
  const Run& run = lists_[list.index()];
  if (run.count == 0) return std::pair<std::size_t, std::size_t>{0, 0};
  if (!run.is_events) return std::nullopt;
  return std::pair<std::size_t, std::size_t>{run.first, run.first + run.count};
}

PickleValue PickleObjects::at(Value dict, std::string_view key) const {
  if (!dict.is(PickleKind::dict) || !dicts_[dict.index()].is(PickleKind::dict)) return {};
  const Run& run = runs_[dicts_[dict.index()].index()];
  Value found;
  for (std::size_t i = 0; i + 1 < run.count; i += 2)
    if (text_of(values_[run.first + i]) == key) found = values_[run.first + i + 1];
  return found;
}

std::string_view PickleObjects::text_of(Value value) const {
  return value.is(PickleKind::text) ? std::string_view(stacks_.texts[value.index()])
                                    : std::string_view();
}

std::int64_t PickleObjects::number_of(Value value, std::int64_t otherwise) const {
  return value.is(PickleKind::integer) || value.is(PickleKind::boolean) ? value.payload()
                                                                        : otherwise;
}

StackId PickleObjects::stack_of(Value list) {
  if (!list.is(PickleKind::list)) return 0;
  const Run& run = lists_[list.index()];
  if (run.count == 0 || run.is_events) return 0;
  const std::uint64_t key = (std::uint64_t{run.first} << 24) ^ run.count;
  if (const auto known = stack_ids_.find(key); known != stack_ids_.end()) return known->second;
  std::vector<FrameId> frames;
  for (const Value& item : items(list)) {
    const Value frame = resolved(item);
    if (frame.is(PickleKind::frame)) frames.push_back(static_cast<FrameId>(frame.index()));
  }
  stack_bytes_ += 128 + 4 * frames.size();
  stacks_.stacks.push_back(std::move(frames));
  const auto id = static_cast<StackId>(stacks_.stacks.size() - 1);
  stack_ids_.emplace(key, id);
  return id;
}

std::size_t PickleObjects::bytes() const {
  return text_bytes_ + bytes_of(dicts_) + bytes_of(runs_) + bytes_of(lists_) + bytes_of(values_) +
         short_lists_.size() * 64 + bytes_of(events_) + bytes_of(blocks_) + frame_ids_.size() * 48 +
         bytes_of(stacks_.frames) + stack_bytes_;
}

}  // namespace memtape
