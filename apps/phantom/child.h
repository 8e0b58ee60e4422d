// SPDX-License-Identifier: Apache-2.0
// The program as a child process: it is started with its environment and watched while it runs, and
// its end is reported.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "phantom/stand_ins.h"

namespace memtape::phantom_run {

struct ChildCommand {
  std::string path;
  std::vector<std::string> words;
  Environment environment;
  bool output_to_errors = false;  ///< its standard output goes to its error stream
  std::string log = {};           ///< the file for both streams, or ""
};

struct ChildEnd {
  int exit_code = 0;  ///< as a shell reports it: 128 + signal, if a signal ended the program
  int signal = 0;
  double seconds = 0;
};

/// Runs the program to its end and calls `watch` a few times a second. An interrupt of this process
/// is passed on to the child.
Result<ChildEnd> run_child(const ChildCommand& command, const std::function<void()>& watch);

}  // namespace memtape::phantom_run
