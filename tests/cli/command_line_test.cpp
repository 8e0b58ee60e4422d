// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>

#include "commands/commands.h"
#include "workload/train_options.h"

namespace memtape::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

RawOptions train(std::vector<const char*> words) {
  words.insert(words.begin(), "some/model");
  return answer::asked_of(option::read_words(answer::train_syntax(), words).value());
}

/// What a command line prints, and beside it the line that says why it does not.
std::pair<std::string, std::string> printed(const std::vector<const char*>& words) {
  char *output = nullptr, *errors = nullptr;
  std::size_t output_size = 0, errors_size = 0;
  std::FILE *to = open_memstream(&output, &output_size),
            *beside = open_memstream(&errors, &errors_size);
  Terminal terminal(to, beside, {});
  run_command_line(words, terminal);
  std::fclose(to);
  std::fclose(beside);
  std::pair<std::string, std::string> both{{output, output_size}, {errors, errors_size}};
  std::free(output);
  std::free(errors);
  return both;
}

std::string complaint(const std::vector<const char*>& words) {
  const std::string line = printed(words).second;
  if (line.empty()) return "(accepted)";
  const std::size_t begin = std::string("memtape: ").size();
  return line.substr(begin, line.size() - 1 - begin);
}

std::string message(const std::vector<const char*>& words) { return printed(words).first; }

TEST(Train, TakesTheModelAndEachNamedOption) {
  const RawOptions options = train({"--gpu", "h100-80gb", "--micro-batch-size=4"});
  EXPECT_EQ(options.model, "some/model");
  EXPECT_THAT(options.values, ElementsAre(Pair("gpu", "h100-80gb"), Pair("micro-batch-size", "4")));
}

TEST(Train, EveryOptionOfTheTableIsTaken) {
  for (const TrainOption& option : train_options()) {
    const std::string word = "--" + std::string(option.name());
    if (option.is_switch())
      EXPECT_THAT(train({word.c_str()}).values, ElementsAre(Pair(option.name(), "true")));
    else
      EXPECT_THAT(train({word.c_str(), "x"}).values, ElementsAre(Pair(option.name(), "x")));
  }
}

TEST(Train, ValuesArriveWordForWord) {
  for (const char* value : {"{}", "[a,b]", "{\"r\": [1, 2]}", "-1", "a b", "", "%%", "\"q\""})
    EXPECT_THAT(train({"--strategy", value}).values, ElementsAre(Pair("strategy", value)));
}

TEST(Train, ARepeatedOptionIsRefusedAndGlobsAddUp) {
  EXPECT_EQ(complaint({"train", "m", "--gpus", "2", "--gpus", "8"}),
            "--gpus: is given twice, as 2 and 8 (leave out one of them)");
  EXPECT_THAT(train({"--freeze", "*embed*", "--freeze", "[a,b]"}).values,
              ElementsAre(Pair("freeze", "*embed*"), Pair("freeze", "[a,b]")));
}

TEST(Train, SaysHowToAnswer) {
  const RawOptions options = train({"--json", "--html", "page.html", "--quiet"});
  EXPECT_TRUE(options.output.json && options.output.quiet && !options.output.explain);
  EXPECT_EQ(options.html, "page.html");
}

TEST(Mistakes, NameWhatIsWrongAndWhatIsNear) {
  EXPECT_EQ(complaint({"trian"}), "unknown command trian (did you mean train?)");
  EXPECT_EQ(complaint({"train", "m", "--optimzer", "adamw"}),
            "train: unknown option --optimzer (did you mean --optimizer?)");
  EXPECT_EQ(complaint({"train", "--optimzer=adamw"}),
            "train: unknown option --optimzer (did you mean --optimizer?)");
  EXPECT_EQ(complaint({"train"}), "train: MODEL is required (see memtape train --help)");
  EXPECT_EQ(complaint({"train", "m", "--gpu"}),
            "train: --gpu needs a value (see memtape train --help)");
  EXPECT_EQ(complaint({"train", "m", "n"}),
            "train: one argument too many: n (see memtape train --help)");
}

TEST(Mistakes, ANamedPipeIsNotWaitedFor) {
  const std::string pipe = testing::TempDir() + "nobody_writes_to_it";
  ::unlink(pipe.c_str());
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(complaint({"explain", pipe.c_str()}),
            pipe + ": is a named pipe, not a file (write what comes out of it to a file)");
  ::unlink(pipe.c_str());
}

TEST(Help, EveryCommandShowsAnExampleAndTheCommonOptions) {
  for (const char* command : {"train", "replay", "models", "gpus"}) {
    const std::string text = message({command, "--help", "--all"});
    EXPECT_THAT(text, HasSubstr(std::string("Example:\n  memtape ") + command));
    for (const char* option : {"--json", "--quiet", "--explain"})
      EXPECT_THAT(text, HasSubstr(option));
    EXPECT_THAT(message({"--help"}), HasSubstr(std::string("\n  ") + command));
  }
}

TEST(Catalogs, TheIdIsOptional) {
  EXPECT_THAT(message({"gpus"}), HasSubstr("\nh100-80gb "));
  EXPECT_THAT(message({"models", "gpt2"}), HasSubstr("  from        catalog\n"));
}

}  // namespace
}  // namespace memtape::cli
