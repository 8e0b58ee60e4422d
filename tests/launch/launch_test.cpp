// SPDX-License-Identifier: Apache-2.0
// Launch commands: what is left when the wrappers are off.
#include "formats/shell.h"
#include "launch/container.h"
#include "launch/launch_command.h"
#include "launch/translation.h"

#include <sstream>

#include <gmock/gmock.h>

namespace memtape::launch {
namespace {

using testing::ElementsAre;

std::vector<std::string> words(const std::string& line) {
  std::istringstream in(line);
  return {std::istream_iterator<std::string>(in), {}};
}

/// No file is there.
class NoFiles final : public Files {
 public:
  Result<std::string> read(const std::string& path) const override {
    return bad_input("cannot be opened", path);
  }
};

LaunchCommand unwrapped(const std::string& line) {
  const std::vector<std::string> typed = words(line);
  const Result<LaunchCommand> command = unwrap(typed, NoFiles());
  EXPECT_TRUE(command.has_value()) << (command ? "" : command.error().line());
  return command ? *command : LaunchCommand{};
}

TEST(Launch, torchrun_multiplies_processes_and_nodes) {
  const LaunchCommand command =
      unwrapped("torchrun --nproc_per_node=8 --nnodes 1:4 --rdzv-id x a/train.py --x 1");
  EXPECT_EQ(command.program, "train.py");
  EXPECT_THAT(command.arguments, ElementsAre("--x", "1"));
  EXPECT_EQ(command.gpus(), 32);
}

TEST(Launch, wrappers_nest) {
  const LaunchCommand command = unwrapped(
      "A=1 env B=2 nohup python3.11 -u -m torch.distributed.run --nproc-per-node 4 -m pkg.train y");
  EXPECT_EQ(command.program, "pkg.train");
  EXPECT_THAT(command.arguments, ElementsAre("y"));
  EXPECT_EQ(command.gpus(), 4);
  ASSERT_NE(command.variable("B"), nullptr);
  EXPECT_EQ(*command.variable("B"), "2");
}

TEST(Launch, an_image_stands_for_its_entry_point) {
  const LaunchCommand command =
      unwrapped("docker run --gpus all -e K=v -p 8000:8000 vllm/vllm-openai:latest --model m");
  EXPECT_EQ(command.program, "vllm.entrypoints.openai.api_server");
  EXPECT_THAT(command.arguments, ElementsAre("--model", "m"));
}

TEST(Launch, accelerate_hands_on_what_it_decides) {
  const LaunchCommand command =
      unwrapped("accelerate launch --num_processes 2 --mixed_precision bf16 train.py");
  EXPECT_EQ(command.gpus(), 2);
  const GivenSetting* const precision = command.launcher_settings.find("mixed_precision");
  ASSERT_NE(precision, nullptr);
  EXPECT_EQ(precision->value.text, "bf16");
}

TEST(Launch, megatron_arguments_become_attributes) {
  const std::vector<std::string> typed = words(
      "torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 4 --no-bias-gelu-fusion "
      "--recompute-modules [a b]");
  const Result<Translation> translation = translate(typed, NoFiles());
  ASSERT_TRUE(translation.has_value());
  EXPECT_THAT(translation->config, testing::HasSubstr("\"num_layers\": 4"));
  EXPECT_THAT(translation->config, testing::HasSubstr("\"bias_gelu_fusion\": false"));
  EXPECT_THAT(translation->config, testing::HasSubstr("[\"a\", \"b\"]"));
  EXPECT_THAT(translation->options, testing::Contains(testing::FieldsAre("gpus", "8", testing::_)));
}

TEST(Launch, a_last_value_counts) {
  const std::vector<std::string> typed =
      words("python pretrain_gpt.py --num-layers 4 --num-layers 6");
  const Result<Translation> translation = translate(typed, NoFiles());
  ASSERT_TRUE(translation.has_value());
  EXPECT_THAT(translation->config, testing::HasSubstr("\"num_layers\": 6"));
}

TEST(Launch, a_script_is_read_as_a_shell_reads_it) {
  EXPECT_THAT(shell_words("a 'b c' \"d \\\" e\" f\\ g \\\n h # rest"),
              ElementsAre("a", "b c", "d \" e", "f g", "h"));
  const auto commands = shell_commands("cd x && VAR=1 run 'a;b'\nlast &");
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_THAT(commands[1], ElementsAre("VAR=1", "run", "a;b"));
  const auto lookup = [](std::string_view name) -> std::optional<std::string> {
    return name == "A" ? std::optional<std::string>("1") : std::nullopt;
  };
  EXPECT_EQ(with_variables("$A ${A} ${B:-2} $B $$A ${", lookup), "1 1 2 $B $A ${");
}

TEST(Launch, a_shell_starts_the_first_program_that_is_known) {
  const std::vector<std::string> typed{"bash", "-lc",
                                       "export A=m; sleep 1; exec vllm serve $A --seed 1"};
  const Result<LaunchCommand> command = unwrap(typed, NoFiles());
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->program, "vllm");
  EXPECT_THAT(command->arguments, ElementsAre("serve", "m", "--seed", "1"));
}

TEST(Launch, a_container_is_the_command_that_runs_it) {
  Container container;
  container.image = "i";
  container.entry_point = {"python3", "-m"};
  container.command = {"x"};
  container.environment = {{"A", "1"}};
  container.gpus = 2;
  EXPECT_THAT(docker_words(container), ElementsAre("docker", "run", "-e", "A=1", "--gpus", "2",
                                                   "--entrypoint", "python3", "i", "-m", "x"));
}

}  // namespace
}  // namespace memtape::launch
