// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sstream>

#include "baseline.h"
#include "report/csv.h"
#include "report/html.h"
#include "report/json.h"
#include "report/json_writer.h"
#include "sample_prediction.h"

namespace memtape::report {
namespace {

using test::make_sample;
using test::Sample;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Json, IsAsApproved) { test::expect_baseline("answer.json", json(make_sample().prediction)); }

TEST(Json, SaysNullWhereNothingIsKnown) {
  const auto answer = nlohmann::json::parse(json(Prediction{}));
  for (const char* key : {"device", "fits", "headroom_bytes", "failure"})
    EXPECT_TRUE(answer.at(key).is_null()) << key;
}

TEST(Json, SaysWhatFails) {
  Prediction p;
  p.fits = false;
  p.headroom_bytes = -5;
  p.failure = Failure{2, Phase::forward, "m", "mm", {2, 3}, "float32", 24, 2_MiB, {1, 512, 2_MiB}};
  const auto answer = nlohmann::json::parse(json(p));
  EXPECT_EQ(answer.at("headroom_bytes"), -5);
  EXPECT_EQ(answer.at("failure").at("shape"), nlohmann::json::array({2, 3}));
  EXPECT_EQ(answer.at("failure").at("held_allocated_bytes"), 512);
}

TEST(JsonWriter, EscapesWhatJsonCannotHold) {
  JsonWriter out(JsonWriter::Layout::compact);
  out.begin_array();
  out.value("a\"b\\c\n\x01/é€😀");
  out.value("\xff\xc3(\xed\xa0\x80");
  out.end_array();
  const std::string text = std::move(out).take();
  EXPECT_EQ(text, "[\"a\\\"b\\\\c\\n\\u0001/é€😀\",\"\\ufffd\\ufffd(\\ufffd\\ufffd\\ufffd\"]");
  EXPECT_TRUE(nlohmann::json::accept(text));
}

TEST(JsonWriter, IndentsAndKeepsRowsOnOneLine) {
  JsonWriter out(JsonWriter::Layout::pretty);
  out.begin_object();
  out.key("a");
  out.begin_row();
  out.value(1);
  out.value(2);
  out.end_array();
  out.key("b");
  out.begin_object();
  out.end_object();
  out.end_object();
  EXPECT_EQ(std::move(out).take(), "{\n  \"a\": [1, 2],\n  \"b\": {}\n}\n");
}

TEST(Csv, IsAsApproved) {
  test::expect_baseline("events.csv", csv(make_sample({.layers = 1}).trace));
}

TEST(Csv, EveryRowHasEveryColumnAndTheLevelsAddUp) {
  const Sample sample = make_sample({.layers = 3, .micro_batches = 2});
  std::istringstream lines(csv(sample.trace));
  std::string line;
  std::getline(lines, line);
  const auto columns = std::count(line.begin(), line.end(), ',');
  Bytes allocated = sample.prediction.ranks[0].steady.allocated;
  while (std::getline(lines, line)) {
    ASSERT_EQ(std::count(line.begin(), line.end(), ','), columns) << line;
    std::vector<std::string> cells;
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, ',');) cells.push_back(cell);
    allocated += (cells[1] == "alloc" ? 1 : -1) * std::stoll(cells[2]);
    EXPECT_EQ(std::stoll(cells[4]), allocated) << line;
  }
  EXPECT_EQ(allocated, sample.prediction.ranks[0].steady.allocated);
}

/// The JSON inside a page.
nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

TEST(Html, StandsAlone) {
  const Sample sample = make_sample();
  const std::string page = html(sample.prediction, sample.trace);
  EXPECT_THAT(page, HasSubstr("<!doctype html>"));
  for (const char* outside :
       {"http:", "https:", "src=", "@import", "url(", "fetch(", "@data@", "@style@", "@script@"})
    EXPECT_THAT(page, Not(HasSubstr(outside)));
}

TEST(Html, TheStepInItReachesThePeakAndReturns) {
  const Sample sample = make_sample({.layers = 3, .micro_batches = 2});
  const auto step = data_of(html(sample.prediction, sample.trace)).at("step");
  const auto sizes = step.at("sizes").get<std::vector<Bytes>>();
  Bytes level = 0, peak = 0;
  std::size_t peak_event = 0, event = 0;
  for (std::size_t b = 0; b < step.at("alive").get<std::size_t>(); ++b) level += sizes.at(b);
  EXPECT_EQ(level, sample.prediction.ranks[0].steady.allocated);
  for (const std::int64_t e : step.at("events")) {
    if (e > 0) level += sizes.at(static_cast<std::size_t>(e - 1));
    if (e < 0) level -= sizes.at(static_cast<std::size_t>(-e - 1));
    if (level > peak) {
      peak = level;
      peak_event = event;
    }
    ++event;
  }
  EXPECT_EQ(level, sample.prediction.ranks[0].steady.allocated);
  EXPECT_EQ(peak, sample.prediction.ranks[0].peak.allocated);
  EXPECT_EQ(step.at("peak_event").get<std::size_t>(), peak_event);
  EXPECT_EQ(step.at("why").size(), sizes.size());
}

TEST(Html, EveryStageHasItsSchedule) {
  Sample sample = make_sample();
  RankReport first = sample.prediction.ranks[0], last = first;
  const Pass f0{Phase::forward, 0, 0}, f1{Phase::forward, 0, 1}, b0{Phase::backward, 0, 0},
      b1{Phase::backward, 0, 1};
  first.passes = {f0, f1, b0, b1};
  last.passes = {f0, b0, f1, b1};
  last.stage = 1;
  last.ranks = {1};
  sample.prediction.ranks = {last, first};
  EXPECT_EQ(data_of(html(sample.prediction, sample.trace)).at("schedule"),
            nlohmann::json::parse(R"([[0, "F1 F2 B1 B2", 2], [1, "F1 B1 F2 B2", 1]])"));
  sample.prediction.ranks = {first};  // no pipeline
  EXPECT_TRUE(data_of(html(sample.prediction, sample.trace)).at("schedule").empty());
}

TEST(Html, NamesCannotEndTheScript) {
  Sample sample = make_sample();
  sample.prediction.model.id = "</script><b>";
  const std::string page = html(sample.prediction, sample.trace);
  EXPECT_THAT(page, Not(HasSubstr("</script><b>")));
  EXPECT_EQ(data_of(page).at("model"), "</script><b>");
}

TEST(Html, EmptyTraceIsHarmless) {
  EXPECT_EQ(data_of(html({}, {})).at("step").at("events").size(), 0u);
}

}  // namespace
}  // namespace memtape::report
