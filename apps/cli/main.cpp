// SPDX-License-Identifier: Apache-2.0
#include <exception>

#include "command_line.h"
#include "heap.h"
#include "terminal.h"

namespace memtape::cli {
namespace {

/// Rooms do not throw; what still arrives here (memory is exhausted, a library's own) is ours to
/// own up to.
int run_guarded(option::Arguments arguments, Terminal& terminal) {
  try {
    return run_command_line(arguments, terminal);
  } catch (const std::exception& thrown) {
    return terminal.fail({ErrorKind::internal, thrown.what(), "internal error", {}});
  }
}

}  // namespace
}  // namespace memtape::cli

int main(int argc, char** argv) {
  using namespace memtape::cli;
  prepare_heap();
  Terminal terminal = Terminal::of_process();
  const int code = run_guarded({argv + 1, argv + argc}, terminal);
  if (terminal.flush()) return code;
  return terminal.fail(
      {memtape::ErrorKind::internal, "cannot be written to", "standard output", {}});
}
