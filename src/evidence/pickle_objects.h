// SPDX-License-Identifier: Apache-2.0
// PickleObjects: the objects of a snapshot's pickle as they are completed. Dicts of which there are
// millions become records at once: an event takes 40 bytes, and a frame is kept once however often
// it occurs. All others (segments, settings) stay dicts of keys and values.
//
// The keys of a dict tell which record it becomes: a dict with "action" is an event, with
// "filename" a frame, with "state" a block. Dicts with the same keys in the same order share what
// was found out about them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "evidence/pickle_value.h"
#include "evidence/snapshot.h"

namespace memtape {

class PickleObjects {
 public:
  using Value = PickleValue;
  using Values = std::span<const PickleValue>;

  PickleObjects();

  Value text(std::string_view words);
  Value new_dict();
  Value new_list();
  Value tuple(Values items);
  void append(Value list, Values items);
  /// `pairs` is key, value, key, value ...
  void set_items(Value dict, Values pairs);

  /// What a dict has become: an event, a frame or a block, or still a dict.
  Value resolved(Value value) const;
  /// The items of a list or a tuple. A list of events returns nothing.
  Values items(Value list) const;
  /// For a list that holds only events: the number of the first one, and one more than that of the
  /// last.
  std::optional<std::pair<std::size_t, std::size_t>> events_of(Value list) const;
  /// The value of a key, or none.
  Value at(Value dict, std::string_view key) const;
  std::string_view text_of(Value value) const;
  std::int64_t number_of(Value value, std::int64_t otherwise = 0) const;

  /// The stack of a list of frames.
  StackId stack_of(Value list);

  std::size_t bytes() const;

  std::vector<SnapshotEvent>& events() { return events_; }
  std::vector<SnapshotBlock>& blocks() { return blocks_; }
  Stacks& stacks() { return stacks_; }
  std::vector<std::int64_t>& streams() { return streams_; }
  std::size_t unknown_actions() const { return unknown_actions_; }

 private:
  /// A run of values in `values_`. A list of consecutive events holds their numbers instead.
  struct Run {
    std::uint64_t first : 40 = 0;
    bool is_shared : 1 = false;  ///< others have the same items, so it grows elsewhere
    bool is_events : 1 = false;
    std::uint32_t count = 0, capacity = 0;
  };
  enum class Role : std::uint8_t { dict, event, frame, block };
  enum class Field : std::uint8_t {
    ignored,
    action,
    addr,
    size,
    stream,
    time_us,
    frames,
    category,
    filename,
    name,
    line,
    state,
    requested_size,
    history,
  };
  struct Shape {
    std::vector<Value> keys;
    std::vector<Field> fields;
    Role role = Role::dict;
  };

  const Shape& shape_of(Values pairs);
  Role role_of(const std::vector<Value>& keys) const;
  Field field_of(Value key) const;
  void extend(Run& run, Values items);
  bool extend_events(Run& run, Values items);
  void share(Run& run);
  Value event_from(const Shape& shape, Values pairs);
  Value frame_from(const Shape& shape, Values pairs);
  Value block_from(const Shape& shape, Values pairs);
  std::uint16_t stream_index(std::int64_t handle);
  std::uint8_t category_of(Value value) const;
  StackId stack_of_history(Value list);

  Stacks stacks_;
  std::unordered_map<std::string_view, TextId> text_ids_;
  std::size_t text_bytes_ = 0, stack_bytes_ = 0;

  std::vector<Value> dicts_;  ///< what a dict has become, or the run of a dict without a record
  std::vector<Run> runs_, lists_;
  std::vector<Value> values_;
  std::unordered_multimap<std::uint64_t, Run> short_lists_;  ///< by a hash of their items

  std::deque<Shape> shapes_;
  const Shape* last_shape_ = nullptr;
  std::vector<SnapshotEvent> events_;
  std::vector<SnapshotBlock> blocks_;
  std::unordered_multimap<std::uint64_t, FrameId> frame_ids_;
  std::unordered_map<std::uint64_t, StackId> stack_ids_;  ///< by their first value and their count
  std::vector<std::int64_t> streams_;
  std::size_t unknown_actions_ = 0;
};

}  // namespace memtape
