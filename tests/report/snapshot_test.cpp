// SPDX-License-Identifier: Apache-2.0
#include "report/snapshot.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "report/pickle_writer.h"
#include "report/segment_map.h"
#include "sample_prediction.h"
#include "unpickle.h"

namespace memtape::report {
namespace {

using nlohmann::json;
using test::make_sample;
using test::Sample;
using test::Unpickler;

TEST(PickleWriter, ValuesComeBack) {
  PickleWriter out;
  out.begin_dict();
  for (std::int64_t n : {0L, 255L, 256L, 65535L, 65536L, -1L, 2147483647L, 2147483648L,
                         -2147483649L, 0x7fffdeadbeef0000L})
    out.member(std::to_string(n), n);
  out.member("yes", true);
  out.member("no", false);
  out.member("text", std::string_view("again"));
  out.member("more", std::string_view("again"));
  out.member("long", std::string(300, 'x'));
  out.key("pair");
  out.pair(1, -300);
  out.key("list");
  out.begin_list();
  out.end_list();
  out.end_dict();
  const json value = Unpickler(std::move(out).take()).read();
  for (const char* n : {"0", "255", "65536", "-1", "2147483648", "-2147483649"})
    EXPECT_EQ(value.at(n), std::stoll(n));
  EXPECT_EQ(value.at("more"), "again");
  EXPECT_EQ(value.at("long").get<std::string>().size(), 300u);
  EXPECT_EQ(value.at("pair"), json::array({1, -300}));
  EXPECT_TRUE(value.at("list").empty());
  EXPECT_EQ(value.at("yes"), true);
}

TEST(PickleWriter, LongListsComeInBatches) {
  PickleWriter out;
  out.begin_list();
  for (int i = 0; i < 2500; ++i) {
    out.begin_list();
    out.integer(i);
    if (i == 999) {
      const auto memo = out.end_and_remember_list();
      out.recall(memo);
    } else {
      out.end_list();
    }
  }
  out.end_list();
  const std::string bytes = std::move(out).take();
  EXPECT_GE(std::count(bytes.begin(), bytes.end(), 'e'), 2502);
  const json value = Unpickler(bytes).read();
  ASSERT_EQ(value.size(), 2501u);
  EXPECT_EQ(value[999], json::array({999}));
  EXPECT_EQ(value[1000], json::array({999}));
  EXPECT_EQ(value[2500], json::array({2499}));
}

/// Memory as the viewer's "Allocator State History" sees it (MemoryViz.js, `simulate_memory`): from
/// the final state back.
class Rewind {
 public:
  explicit Rewind(const json& snapshot) {
    for (const json& s : snapshot.at("segments")) {
      segments_[s.at("address")] = s.at("total_size");
      std::int64_t address = s.at("address");
      Bytes tiled = 0;
      for (const json& b : s.at("blocks")) {
        EXPECT_EQ(b.at("address"), address + tiled);
        if (b.at("state") == "active_allocated") blocks_[b.at("address")] = b.at("requested_size");
        tiled += b.at("size").get<Bytes>();
      }
      EXPECT_EQ(tiled, s.at("total_size"));
    }
  }

  void undo(const json& e) {
    const std::string action = e.at("action");
    const std::int64_t address = e.at("addr");
    const Bytes size = e.at("size");
    if (action == "free_completed") {
      EXPECT_TRUE(blocks_.emplace(address, size).second) << "freed twice";
      EXPECT_TRUE(inside_a_segment(address, size));
    } else if (action == "free_requested") {
      EXPECT_EQ(blocks_.at(address), size);
    } else if (action == "alloc") {
      EXPECT_TRUE(inside_a_segment(address, size));
      ASSERT_TRUE(blocks_.contains(address));
      EXPECT_EQ(blocks_.at(address), size);
      blocks_.erase(address);
    } else if (action == "segment_alloc") {
      EXPECT_EQ(segments_.at(address), size);
      segments_.erase(address);
    } else if (action == "segment_free") {
      EXPECT_TRUE(segments_.emplace(address, size).second);
    } else {
      FAIL() << action;
    }
  }

  bool empty() const { return segments_.empty() && blocks_.empty(); }
  Bytes requested() const {
    Bytes sum = 0;
    for (const auto& [address, size] : blocks_) sum += size;
    return sum;
  }

 private:
  bool inside_a_segment(std::int64_t address, Bytes size) const {
    auto at = segments_.upper_bound(address);
    return at != segments_.begin() && (--at, address + size <= at->first + at->second);
  }
  std::map<std::int64_t, Bytes> segments_, blocks_;
};

void expect_consistent(const Sample& sample) {
  const json value = Unpickler(snapshot(sample.trace)).read();
  const json& trace = value.at("device_traces").at(0);
  Rewind memory(value);
  Bytes highest = 0;
  for (auto e = trace.rbegin(); e != trace.rend(); ++e) {
    highest = std::max(highest, memory.requested());
    memory.undo(*e);
  }
  EXPECT_TRUE(memory.empty());
  EXPECT_EQ(highest, sample.prediction.ranks[0].peak.requested);
}

TEST(Snapshot, RewindsToEmptyMemory) {
  expect_consistent(make_sample());
  expect_consistent(make_sample({.layers = 7, .micro_batches = 3}));
}

TEST(Snapshot, EntriesAreWhatTheViewerNeeds) {
  const Sample sample = make_sample();
  const json value = Unpickler(snapshot(sample.trace)).read();
  std::set<std::string> categories;
  std::int64_t time = -1;
  for (const json& e : value.at("device_traces").at(0)) {
    for (const char* key : {"action", "addr", "size", "stream", "frames", "time_us", "category"})
      EXPECT_TRUE(e.contains(key)) << key;
    EXPECT_GT(e.at("time_us"), time);
    time = e.at("time_us");
    categories.insert(e.at("category"));
  }
  // The viewer fails on a trace with categories of which none is "unknown".
  EXPECT_TRUE(categories.contains("unknown"));
  EXPECT_TRUE(categories.contains("activation"));
}

TEST(Snapshot, FramesSayWhereAndWhy) {
  const json value = Unpickler(snapshot(make_sample().trace)).read();
  const json* silu = nullptr;
  for (const json& e : value.at("device_traces").at(0))
    if (e.at("action") == "alloc" &&
        e.at("frames").at(0).at("name") == "silu [1, 4096, 8192] bfloat16")
      silu = &e;
  ASSERT_TRUE(silu);
  const json& frames = silu->at("frames");
  EXPECT_EQ(frames.at(0).at("filename"), "model.layers.1.mlp");
  EXPECT_EQ(frames.at(1).at("name"),
            "output of silu, kept for MulBackward0 until backward reaches model.layers.1.mlp");
  EXPECT_EQ(frames.at(3).at("filename"), "model.layers.1");
  EXPECT_EQ(frames.back().at("filename"), "activation");
  EXPECT_EQ(frames.back().at("name"), "forward");
}

TEST(Snapshot, EndsWithTheFailedRequest) {
  Sample sample = make_sample();
  auto& timeline = sample.trace.timeline;
  const Window& backward = timeline.windows[timeline.windows.size() - 2];
  OutOfMemory oom;
  for (oom.event = backward.first_event;
       sample.trace.tape.events[oom.event].kind != EventKind::alloc;)
    ++oom.event;
  oom.block = sample.trace.tape.events[oom.event].block;
  oom.requested = sample.trace.tape.requested[oom.block];
  timeline.out_of_memory = oom;
  for (BlockId id = oom.block; id < sample.trace.sizes.size(); ++id) sample.trace.sizes[id] = 0;
  const json value = Unpickler(snapshot(sample.trace)).read();
  EXPECT_EQ(value.at("device_traces").at(0).back().at("action"), "oom");
  EXPECT_EQ(value.at("device_traces").at(0).back().at("size"), oom.requested);
}

TEST(Snapshot, EmptyTraceIsHarmless) {
  const json value = Unpickler(snapshot({})).read();
  EXPECT_TRUE(value.at("segments").empty());
}

TEST(SegmentMap, MappedRangesGrowTogetherAndShrinkInParts) {
  SegmentMap map;
  const auto change = [&](bool taken, std::int64_t address, Bytes size) {
    map.apply({.taken = taken, .expandable = true, .address = address, .size = size});
  };
  change(true, 0, 20);
  change(true, 40, 20);
  EXPECT_EQ(map.segments().size(), 2u);
  change(true, 20, 20);
  ASSERT_EQ(map.segments().size(), 1u);
  EXPECT_EQ(map.segments().at(0).size, 60);
  change(false, 20, 20);
  ASSERT_EQ(map.segments().size(), 2u);
  EXPECT_EQ(map.segments().at(0).size, 20);
  EXPECT_EQ(map.segments().at(40).size, 20);
  change(false, 0, 20);
  change(false, 40, 20);
  EXPECT_TRUE(map.segments().empty());
}

}  // namespace
}  // namespace memtape::report
