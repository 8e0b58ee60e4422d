// SPDX-License-Identifier: Apache-2.0
// The program as a child process: started with its environment, watched while it runs, its end
// told.
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
  bool output_to_errors = false;  ///< its standard output goes where its errors go
  std::string log = {};           ///< file for both, or ""
};

struct ChildEnd {
  int exit_code = 0;  ///< as a shell would say it: 128 + signal for a program that died of one
  int signal = 0;
  double seconds = 0;
};

/// Runs to the end; `watch` is called a few times a second. What interrupts this process is passed
/// on to the child.
Result<ChildEnd> run_child(const ChildCommand& command, const std::function<void()>& watch);

}  // namespace memtape::phantom_run
