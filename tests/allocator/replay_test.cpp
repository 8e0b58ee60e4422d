// SPDX-License-Identifier: Apache-2.0
// Every recording in tests/truth through the replica; their READMEs say where they come from.
#include "allocator/replay.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "formats/trace.h"

namespace memtape {
namespace {

std::vector<std::string> recordings(std::string_view folder) {
  std::vector<std::string> paths;
  const std::string root = MEMTAPE_TEST_DIR "/truth/" + std::string(folder);
  for (const auto& file : std::filesystem::directory_iterator(root))
    if (file.path().extension() == ".gz") paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string content(const std::string& path) {
  std::string text;
  std::vector<char> chunk(1 << 18);
  gzFile file = gzopen(path.c_str(), "rb");
  for (int got = 1; got > 0;) {
    got = gzread(file, chunk.data(), static_cast<unsigned>(chunk.size()));
    if (got > 0) text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  gzclose(file);
  return text;
}

/// Replays every recording of a folder, complains of those that disagree and hands each report to
/// `check`.
template <class Check>
void replay_all(std::string_view folder, const ReplayOptions& options, Check check) {
  for (const std::string& path : recordings(folder)) {
    SCOPED_TRACE(path);
    const std::string text = content(path);
    const auto trace = parse_trace(text);
    ASSERT_TRUE(trace) << trace.error().line();
    const ReplayReport report = replay(*trace, options);
    if (report.disagreement)
      ADD_FAILURE() << "event " << report.disagreement->event << ": recorded "
                    << report.disagreement->recorded << ", replica "
                    << report.disagreement->replica;
    check(report, text);
  }
}

void every_address(const ReplayReport& report, const std::string&) {
  EXPECT_EQ(report.equal_addresses, report.allocs)
      << "first other: event " << report.first_other_address.value_or(0);
}
void nothing_more(const ReplayReport&, const std::string&) {}

const ReplayOptions kRecorded{};
const ReplayOptions kLinux{DriverPlacement::linux_regions};

TEST(ReplayTruth, AllRecordingsAreThere) {
  EXPECT_EQ(recordings("torch_traces").size(), 115u);
  EXPECT_EQ(recordings("snapshots").size(), 92u);
  EXPECT_EQ(recordings("allocator_options").size(), 15u);
}

TEST(ReplayTruth, RecordedStepsAgreeInEveryAddress) {
  replay_all("torch_traces", kRecorded, every_address);
}
TEST(ReplayTruth, SnapshotsAgreeInEveryAddress) {
  replay_all("snapshots", kRecorded, every_address);
}
TEST(ReplayTruth, OptionsAgreeInEveryAddress) {
  replay_all("allocator_options", kRecorded, every_address);
}

// Without the recorded addresses: the driver's placement is the replica's own.
TEST(ReplayTruth, RecordedStepsPlaceEverySegmentAsRecorded) {
  replay_all("torch_traces", kLinux, every_address);
}
TEST(ReplayTruth, SnapshotsAgreeInEverySegmentWhereverTheyLie) {
  replay_all("snapshots", kLinux, nothing_more);
}

void same_statistics(const ReplayReport& report, const std::string& text) {
  const auto header = nlohmann::json::parse(text.substr(0, text.find('\n')));
  const auto& recorded = header.at("statistics");
  const Statistics& ours = report.statistics;
  const auto same = [&](const std::string& name, const Stat& stat) {
    EXPECT_EQ(recorded.at(name + ".all.current"), stat.current) << name;
    EXPECT_EQ(recorded.at(name + ".all.peak"), stat.peak) << name;
  };
  same("requested_bytes", ours.requested_bytes);
  same("allocated_bytes", ours.allocated_bytes);
  same("active_bytes", ours.active_bytes);
  same("reserved_bytes", ours.reserved_bytes);
  EXPECT_EQ(recorded.at("inactive_split_bytes.all.current"), ours.inactive_split_bytes);
  EXPECT_EQ(recorded.at("inactive_split.all.current"), ours.inactive_splits);
  EXPECT_EQ(recorded.at("allocation.all.current"), ours.allocations);
  EXPECT_EQ(recorded.at("segment.all.current"), ours.segments);
  EXPECT_EQ(recorded.at("num_alloc_retries"), ours.num_alloc_retries);
  EXPECT_EQ(recorded.at("num_ooms"), ours.num_ooms);
  EXPECT_EQ(recorded.at("num_device_alloc"), ours.num_device_alloc);
  EXPECT_EQ(recorded.at("num_device_free"), ours.num_device_free);
}

TEST(ReplayTruth, OptionsAgreeInEverySegmentAndStatistic) {
  replay_all("allocator_options", kLinux, same_statistics);
}

/// A recording with one number changed must be found out.
class ReplayDisagreement : public ::testing::Test {
 protected:
  RecordedTrace trace_ =
      *parse_trace(content(MEMTAPE_TEST_DIR "/truth/snapshots/profile-grad-2b1505.jsonl.gz"));

  std::size_t first(TraceAction action) const {
    std::size_t i = 0;
    while (trace_.events[i].action != action) ++i;
    return i;
  }
};

TEST_F(ReplayDisagreement, OfAnAddress) {
  const std::size_t event = trace_.events.size() - 1;
  RecordedTrace changed = trace_;
  std::size_t alloc = 0;
  for (std::size_t i = 0; i < event; ++i)
    if (trace_.events[i].action == TraceAction::alloc) alloc = i;
  changed.events[alloc].address += 512;
  const ReplayReport report = replay(changed);
  ASSERT_TRUE(report.disagreement);
  EXPECT_EQ(report.disagreement->event, alloc);
}

TEST_F(ReplayDisagreement, OfASegmentsSize) {
  const std::size_t event = first(TraceAction::segment_alloc);
  trace_.events[event].size += 2_MiB;
  for (const ReplayOptions& options : {kRecorded, kLinux}) {
    const ReplayReport report = replay(trace_, options);
    ASSERT_TRUE(report.disagreement);
    EXPECT_EQ(report.disagreement->event, event);
  }
}

TEST_F(ReplayDisagreement, OfASegmentThatIsMissing) {
  const std::size_t event = first(TraceAction::segment_alloc);
  trace_.events.erase(trace_.events.begin() + static_cast<std::ptrdiff_t>(event));
  const ReplayReport report = replay(trace_);
  ASSERT_TRUE(report.disagreement);
  EXPECT_EQ(report.disagreement->event, event);
  EXPECT_NE(report.disagreement->replica.find("a segment of"), std::string::npos);
}

TEST_F(ReplayDisagreement, OfAFreeWithoutAlloc) {
  const std::size_t event = first(TraceAction::free_completed);
  trace_.events[event].address += 512;
  const ReplayReport report = replay(trace_);
  ASSERT_TRUE(report.disagreement);
  EXPECT_EQ(report.disagreement->event, event);
}

TEST_F(ReplayDisagreement, OfTheFinalState) {
  ASSERT_TRUE(trace_.final_segments);
  auto segment = trace_.final_segments->begin();
  while (segment->blocks.empty()) ++segment;
  segment->blocks.pop_back();
  const ReplayReport report = replay(trace_);
  ASSERT_TRUE(report.disagreement);
  EXPECT_EQ(report.disagreement->event, trace_.events.size());
}

}  // namespace
}  // namespace memtape
