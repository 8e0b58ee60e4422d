// SPDX-License-Identifier: Apache-2.0
#include "report/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "baseline.h"
#include "report/explain.h"
#include "report/picture.h"
#include "sample_prediction.h"

namespace memtape::report {
namespace {

using test::make_sample;
using test::Sample;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const Sample& sample, const TextOptions& options) {
  return text(sample.prediction, &sample.trace, options);
}

void expect_no_longer_than(int width, const std::string& output) {
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), width) << line;
}

TEST(Text, IsAsApproved) {
  const Sample sample = make_sample();
  test::expect_baseline("text_80.txt", text_of(sample, {.width = 80}));
  test::expect_baseline("text_120_colour.txt",
                        text_of(sample, {.width = 120, .style = {.colour = true}}));
  test::expect_baseline("text_80_ascii.txt",
                        text_of(sample, {.width = 80, .style = {.ascii = true}}));
  test::expect_baseline("quiet.txt", quiet_text(sample.prediction));
}

TEST(Text, KeepsToTheWidth) {
  Sample sample = make_sample({.layers = 6, .micro_batches = 3, .device_bytes = 16_GiB});
  sample.prediction.model.id =
      "an-organisation-of-many-words/a-model-whose-name-goes-on-and-on-and-on-and-on-70B-instruct";
  sample.prediction.device->name =
      "A Graphics Processor With A Remarkably Long Marketing Name 80GB HBM3 SXM5";
  sample.prediction.warnings.push_back(std::string(300, 'x'));
  for (int width : {72, 73, 80, 99, 100, 120}) {
    expect_no_longer_than(width, text_of(sample, {.width = width}));
    expect_no_longer_than(width, text_of(sample, {.width = width, .style = {.colour = true}}));
    expect_no_longer_than(width, explain(sample.prediction, sample.trace, {.width = width}));
  }
}

TEST(Text, AsciiHasNoOtherBytes) {
  const Sample sample = make_sample();
  for (char c : text_of(sample, {.style = {.ascii = true}}))
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  for (char c : explain(sample.prediction, sample.trace, {.style = {.ascii = true}}))
    EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
}

TEST(Text, ColourIsAllThatColourChanges) {
  const Sample sample = make_sample();
  const std::string coloured = text_of(sample, {.style = {.colour = true}});
  EXPECT_THAT(coloured, HasSubstr("\x1b[38;5;"));
  EXPECT_THAT(text_of(sample, {}), Not(HasSubstr("\x1b")));
}

TEST(Text, SaysWhatFailsWhenItDoesNotFit) {
  Sample sample = make_sample({.device_bytes = 4_GiB});
  Prediction& p = sample.prediction;
  p.failure = Failure{
      1, Phase::backward, "model.layers.1.mlp", "mm", {8192, 2048}, "bfloat16", 32_MiB, 34_MiB, {}};
  const std::string output = text_of(sample, {.width = 120});
  EXPECT_THAT(output, HasSubstr("does not fit: 4.02 of 4.00 GiB"));
  EXPECT_THAT(output, HasSubstr("18.00 MiB more than the driver gives"));
  EXPECT_THAT(
      output,
      HasSubstr(
          "fails in step 2, backward: mm in model.layers.1.mlp asks for 32.00 MiB [8192, 2048]"));
  EXPECT_THAT(output, HasSubstr("what would make it fit"));
  EXPECT_EQ(quiet_text(p),
            "example/decoder (torch, 1 x 4096 tokens, bf16): 4.02 GiB on the device of 4.00 GiB, "
            "does not fit\n");
}

TEST(Text, NeedsNeitherDeviceNorTrace) {
  Sample sample = make_sample();
  Prediction& p = sample.prediction;
  p.device.reset();
  p.fits.reset();
  p.verdict.reset();
  p.headroom_bytes.reset();
  const std::string output = text(p, nullptr, {});
  EXPECT_THAT(output, HasSubstr("4.02 GiB on the device at the peak of a step"));
  EXPECT_THAT(output, Not(HasSubstr("fits")));
  EXPECT_EQ(quiet_text(p),
            "example/decoder (torch, 1 x 4096 tokens, bf16): 4.02 GiB on the device\n");
}

TEST(Text, EmptyPredictionIsHarmless) {
  const Prediction nothing;
  const Trace no_trace;
  EXPECT_FALSE(text(nothing, &no_trace, {}).empty());
  EXPECT_TRUE(picture(no_trace, {}).empty());
  EXPECT_FALSE(explain(nothing, no_trace, {}).empty());
}

TEST(Text, SmallModelsAreShownInMiB) {
  const Sample sample = make_sample(
      {.hidden = 64, .heads_width = 32, .intermediate = 128, .vocabulary = 1000, .tokens = 32});
  Prediction p = sample.prediction;
  p.ranks[0].peak_device_bytes = p.ranks[0].peak.reserved;
  EXPECT_THAT(text(p, &sample.trace, {}), HasSubstr("MiB"));
}

TEST(Picture, ShowsTheLimitWhenTheStepComesNearIt) {
  const Sample sample = make_sample();
  const auto lines = [&](Bytes limit) {
    std::string all;
    for (const std::string& l : picture(sample.trace, {.limit = limit})) all += l + '\n';
    return all;
  };
  EXPECT_THAT(lines(3700_MiB), HasSubstr("╌╌╌"));
  EXPECT_THAT(lines(40_GiB), Not(HasSubstr("╌╌╌")));
}

TEST(Picture, SurvivesMoreWindowsThanColumns) {
  const Sample sample = make_sample({.layers = 1, .micro_batches = 64});
  const auto lines = picture(sample.trace, {.width = 60});
  ASSERT_FALSE(lines.empty());
  for (const std::string& l : lines) EXPECT_LE(columns(l), 60);
}

}  // namespace
}  // namespace memtape::report
