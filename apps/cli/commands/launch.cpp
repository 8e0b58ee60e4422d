// SPDX-License-Identifier: Apache-2.0
// `memtape [options] -- COMMAND...`: the launch command in memtape's words, then that command.
#include "answer/launch_request.h"
#include "commands.h"
#include "outside_process.h"

namespace memtape::cli {

int run_launch(const LaunchOptions& options, Terminal& terminal) {
  const Result<answer::Launched> launched = answer::launched(options, outside_process());
  if (!launched) return terminal.fail(launched.error());
  if (const auto* training = std::get_if<RawOptions>(&*launched))
    return run_train(*training, terminal);
  return run_serve(std::get<ServeCommand>(*launched), terminal);
}

}  // namespace memtape::cli
