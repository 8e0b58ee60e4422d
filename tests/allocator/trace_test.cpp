// SPDX-License-Identifier: Apache-2.0
#include "formats/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kHeader =
    R"({"format":1,"name":"n","torch":"2.11","settings":{},"base":33554432,"streams":[0],"events":2})"
    "\n";

std::string with_events(std::string_view lines) {
  return std::string(kHeader) + std::string(lines);
}

std::string problem(std::string_view text) {
  const auto trace = parse_trace(text);
  return trace ? "" : trace.error().line();
}

TEST(Trace, ReadsHeaderAndEvents) {
  const auto trace =
      parse_trace(with_events("[\"segment_alloc\",0,2097152,0]\n[ \"alloc\", 512 , 4,0 ]"));
  ASSERT_TRUE(trace) << trace.error().line();
  EXPECT_EQ(trace->name, "n");
  EXPECT_EQ(trace->base, 32_MiB);
  ASSERT_EQ(trace->events.size(), 2u);
  EXPECT_EQ(trace->events[0].action, TraceAction::segment_alloc);
  EXPECT_EQ(trace->events[1].action, TraceAction::alloc);
  EXPECT_EQ(trace->events[1].address, 512);
  EXPECT_EQ(trace->events[1].size, 4);
  EXPECT_FALSE(trace->final_segments);
}

TEST(Trace, StreamsAreNumberedByHandle) {
  const auto trace =
      parse_trace(with_events("[\"alloc\",0,4,94000000000000]\n[\"alloc\",512,4,77]\n"));
  ASSERT_TRUE(trace) << trace.error().line();
  EXPECT_EQ(trace->events[0].stream, 2);
  EXPECT_EQ(trace->events[1].stream, 1);
}

TEST(Trace, ReadsStatesAndSettings) {
  const auto trace = parse_trace(
      R"({"format":1,"settings":{"PYTORCH_CUDA_ALLOC_CONF":"max_split_size_mb:64","expandable_segments":true,)"
      R"("max_split_size":-1,"garbage_collection_threshold":0.0,"roundup_power2_divisions":{"1":0,"2":4}},)"
      R"("device_memory":{"total":85899345920,"outside":576716800,"fraction":0.5},)"
      R"("initial":[[2097152,2097152,5,"small",false,[[2097152,512]]],[0,2097152,5,"small",false,[]]],)"
      R"("segments":[[0,20971520,0,"large",true,[[0,1048576,9,"inactive"],[1048576,512,1,"active_allocated"]]]]})");
  ASSERT_TRUE(trace) << trace.error().line();
  EXPECT_EQ(trace->config.max_split_size, 64_MiB);
  EXPECT_TRUE(trace->config.expandable_segments);
  EXPECT_EQ(trace->config.roundup_power2_divisions[1], 4u);
  EXPECT_EQ(trace->config.per_process_memory_fraction, 0.5);
  EXPECT_EQ(trace->memory.outside, 576716800);
  ASSERT_EQ(trace->initial.size(), 2u);
  EXPECT_EQ(trace->initial[0].range.address, 0) << "ascending";
  EXPECT_EQ(trace->initial[1].stream, 1);
  ASSERT_EQ(trace->final_segments->size(), 1u);
  EXPECT_EQ(trace->final_segments->front().blocks.size(), 1u);
  EXPECT_TRUE(trace->final_segments->front().is_expandable);
}

TEST(Trace, SaysWhereItIsNotATrace) {
  EXPECT_THAT(problem(""), HasSubstr("header"));
  EXPECT_THAT(problem("{}"), HasSubstr("format"));
  EXPECT_THAT(problem(R"({"format":2})"), HasSubstr("a format other than 1"));
  EXPECT_THAT(problem(R"({"format":1,"initial":[[0,512]]})"), HasSubstr("expected another item"));
  EXPECT_THAT(problem(R"({"format":1,"initial":[[0,1000,0,"small",false,[]]]})"),
              HasSubstr("no multiple of 512"));
  EXPECT_THAT(problem(R"({"format":1,"initial":[[0,1024,0,"small",false,[[512,1024]]]]})"),
              HasSubstr("overlap"));
  EXPECT_THAT(
      problem(
          R"({"format":1,"initial":[[0,2097664,0,"s",false,[]],[2097152,1024,0,"s",false,[]]]})"),
      HasSubstr("segments that overlap"));
  EXPECT_THAT(problem(with_events("[\"alloc\",0,4,0]\n[\"alloc\",0,4\n")),
              HasSubstr("line 3: not an event"));
  EXPECT_THAT(problem(R"({"format":1,"initial":[[512,1024,0,"s",false,[]]]})"),
              HasSubstr("no multiple of 2 MiB"));
  EXPECT_THAT(problem(with_events("[\"aloc\",0,4,0]\n")), HasSubstr("did you mean alloc?"));
  EXPECT_THAT(problem(with_events("[\"alloc\",0,4,0]\n")),
              HasSubstr("the trace ends after 1 events"));
  EXPECT_THAT(problem(with_events("[\"alloc\",0,-4,0]\n")), HasSubstr("out of range"));
  EXPECT_THAT(problem(with_events("[\"alloc\",0,99999999999999999999,0]\n")),
              HasSubstr("line 2: not an event"));
  EXPECT_THAT(problem(with_events("\n\n")), HasSubstr("line 2: not an event"));
}

}  // namespace
}  // namespace memtape
