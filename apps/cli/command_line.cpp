// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "command_parsers.h"
#include "completion.h"
#include "help_text.h"

namespace memtape::cli {
namespace {

constexpr Command kLaunch{"-- COMMAND...", "", "a launch command, predicted without running it",
                          "memtape --gpu h100-80gb -- torchrun --nproc-per-node 8 pretrain_gpt.py "
                          "--num-layers 12 ...",
                          nullptr};

constexpr std::array kCommands{
    Command{"train", "MODEL", "one training step, per GPU",
            "memtape train meta-llama/Llama-3.1-8B --gpu h100-80gb", parse_train, true},
    Command{"serve", "MODEL", "an inference server, per GPU",
            "memtape serve meta-llama/Llama-3.1-8B --engine llamacpp --quantize Q4_K_M",
            parse_serve},
    Command{"run", "-- COMMAND...", "a program on phantom GPUs: its real memory, without a GPU",
            "memtape run --gpu a100-80gb -- python train.py", parse_run},
    Command{"verify", "STEP MODEL", "a prediction beside real torch on a phantom GPU",
            "memtape verify train Qwen/Qwen3-0.6B --sequence-length 512", parse_verify, true},
    Command{"plan", "STEP MODEL", "what fits, ranked by time or cost, ready to launch",
            "memtape plan train meta-llama/Llama-3.1-70B --gpu h100-80gb --gpus 64 "
            "--global-batch-size 256",
            parse_plan, true},
    Command{"fits", "", "which models this machine can chat with or train",
            "memtape fits --gpu rtx-3060-12gb --host-memory 64GiB --size 7B..40B", parse_fits},
    Command{"time", "QUESTIONS", "the time of steps and servers by their sizes",
            "memtape time q.jsonl", parse_time},
    Command{"record", "train MODEL", "that real step as a row of truth",
            "memtape record train Qwen/Qwen3-0.6B --into rows", parse_verify, true},
    Command{"replay", "TRACE", "play a recorded allocator trace through the replica",
            "memtape replay trace.jsonl.gz", parse_replay},
    Command{"explain", "FILE...", "a snapshot, log or error message: what held the memory",
            "memtape explain snapshot.pickle", parse_explain},
    Command{"watch", "-- COMMAND...", "a real run on a real GPU, observed",
            "memtape watch -- python train.py", parse_watch},
    Command{"check", "[FILE]", "a budget in CI: what grew since the lock file, and why",
            "memtape check memtape.toml", parse_check},
    Command{"detect", "", "the GPUs of this machine: what is free now, and who holds the rest",
            "memtape detect --json", parse_detect},
    Command{"mcp", "", "the Model Context Protocol over standard input, for agents",
            "claude mcp add memtape -- memtape mcp", parse_mcp},
    Command{"serve-http", "", "the same answers over HTTP, for schedulers and notebooks",
            "memtape serve-http --port 8471", parse_serve_http},
    Command{"web", "", "the page, served to this machine's browser", "memtape web", parse_web},
    Command{"scoreboard", "FILE...", "replay truth rows: how often right to the byte",
            "memtape scoreboard tests/truth/torch_steps.jsonl", parse_scoreboard},
    Command{"diff", "TAPE MODEL", "a predicted step beside a recorded one",
            "memtape diff step.tape config.json --sequence-length 384", parse_diff, true},
    Command{"models", "[ID]", "the models that are known by name",
            "memtape models meta-llama/Llama-3.1-8B", parse_models},
    Command{"gpus", "[ID]", "the GPUs that are known by name", "memtape gpus h100-80gb",
            parse_gpus},
};

std::string overview() {
  std::string listed;
  for (const Command& command : kCommands) {
    const std::string usage = fmt::format("{} {}", command.name, command.operands);
    listed += fmt::format("  {:<22}{}\n", usage, command.summary);
  }
  listed += fmt::format("  {:<22}{}\n", kLaunch.name, kLaunch.summary);
  return fmt::format(kOverview, MEMTAPE_VERSION, listed, kCommands.front().example);
}

/// `memtape __complete WORDS...`: a candidate a line, and behind a tab what it is.
Message completed(Arguments words) {
  std::vector<CommandName> names;
  for (const Command& command : kCommands) names.push_back({command.name, command.summary});
  std::string lines;
  for (const auto& [word, description] : candidates(words, names))
    lines += fmt::format("{}\t{}\n", word, description);
  return {std::move(lines)};
}

Error unknown_command(std::string_view typed) {
  if (typed.starts_with('-')) {
    return {ErrorKind::bad_input,
            fmt::format("unknown option {}", typed),
            {},
            "a command comes first; see memtape --help"};
  }
  std::vector<std::string_view> names;
  for (const Command& command : kCommands) names.push_back(command.name);
  return {
      ErrorKind::bad_input, fmt::format("unknown command {}", typed), {}, suggestion(typed, names)};
}

/// `memtape help train` is `memtape train --help`.
Result<Request> help_on(std::string_view name) {
  constexpr std::array<const char*, 1> kHelp{"--help"};
  for (const Command& command : kCommands)
    if (command.name == name) return command.parse(command, kHelp);
  return tl::unexpected<Error>(unknown_command(name));
}

}  // namespace

Result<Request> parse_command_line(Arguments arguments) {
  const std::string_view first = arguments.empty() ? "--help" : arguments.front();
  if (first == "help" && arguments.size() > 1) return help_on(arguments[1]);
  if (first == "--help" || first == "-h" || first == "help") return Message{overview()};
  const auto dashes = std::ranges::find(arguments, std::string_view("--"));
  if (first.starts_with('-') && dashes != arguments.end())
    return parse_launch(kLaunch, {arguments.begin(), dashes}, {dashes + 1, arguments.end()});
  if (first == "__complete") return completed(arguments.subspan(1));
  if (first == "--version") return Message{"memtape " MEMTAPE_VERSION "\n"};
  for (const Command& command : kCommands)
    if (command.name == first) return command.parse(command, arguments.subspan(1));
  return tl::unexpected<Error>(unknown_command(first));
}

}  // namespace memtape::cli
