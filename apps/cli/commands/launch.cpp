// SPDX-License-Identifier: Apache-2.0
// `memtape [options] -- COMMAND...`: the launch command in memtape's words, then that command.
#include "answer/launch_request.h"
#include "commands.h"
#include "outside_process.h"

namespace memtape::cli {
namespace {

int run_launch(const Words& words, Terminal& terminal) {
  const Result<answer::Launched> launched = answer::launched(words, outside_process());
  if (!launched) return terminal.fail(launched.error());
  if (const auto* training = std::get_if<RawOptions>(&*launched))
    return show_training(*training, terminal);
  return show_server(std::get<ServeCommand>(*launched), terminal);
}

}  // namespace

const Command kLaunchCommand{
    .name = "-- COMMAND...",
    .summary = "a launch command, predicted without running it",
    .example =
        "memtape --gpu h100-80gb -- torchrun --nproc-per-node 8 pretrain_gpt.py "
        "--num-layers 12 ...",
    .syntax = [](Arguments) -> Result<Syntax> { return answer::launch_syntax(); },
    .run = run_launch,
};

}  // namespace memtape::cli
