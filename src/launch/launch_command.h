// SPDX-License-Identifier: Apache-2.0
// LaunchCommand: a command line with which users start training or serving, taken out of its
// wrappers (torchrun, accelerate launch, deepspeed, python -m, env VAR=..., docker run, ...): the
// program that runs on each GPU, its own words, how many processes there are, and their
// environment. Nothing is run.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "formats/container.h"
#include "formats/files.h"
#include "formats/flags.h"
#include "formats/settings.h"
#include "mesh/process_count.h"

namespace memtape::launch {

struct LaunchCommand {
  const Files* files = nullptr;  ///< the configurations that the words name
  std::string program;  ///< without its folder: "pretrain_gpt.py", "vllm", "sglang.launch_server"
  std::string path;     ///< the same as it was typed
  bool is_module = false;  ///< python -m PROGRAM
  std::vector<std::string> arguments;
  ProcessCount processes;
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<Mount> mounts;  ///< of containers
  /// What a launcher itself decides about the run (such as accelerate's --mixed_precision), under
  /// the launcher's names, and the "image" of a container.
  Settings launcher_settings;
  Remarks remarks;
  int scripts = 0;  ///< that stand around the words
  /// Those of a container's entry point, or of sh -c.
  std::deque<std::vector<std::string>> made_words;

  /// The GPUs of a node, and the processes on all nodes, where something says how many.
  std::optional<std::int64_t> visible_gpus() const { return processes.visible(variables()); }
  std::optional<std::int64_t> gpus() const { return processes.total(variables()); }
  void set_slurm_variables() {
    for (auto& variable : processes.slurm_variables(variables()))
      environment.push_back(std::move(variable));
  }
  void note_launcher(std::string_view setting, std::string value) {
    launcher_settings.set_text(setting, std::move(value), "the launcher");
  }
  /// The last value of an environment variable.
  const std::string* variable(std::string_view name) const;
  /// The variables while the command lives.
  ProcessCount::Said variables() const;
};

Result<LaunchCommand> unwrap(std::span<const std::string> words, const Files& files,
                             int scripts = 0);

}  // namespace memtape::launch
