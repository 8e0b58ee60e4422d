// SPDX-License-Identifier: Apache-2.0
// Translation: a launch command in memtape's own words. `memtape -- COMMAND` is then the command
// that it names, with these options, and with warnings about what could not be expressed.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "launch/launch_command.h"

namespace memtape::launch {

/// An option of memtape that a launch command says, and where it does.
struct SaidOption {
  std::string name, value;  ///< "micro-batch-size", "4"
  std::string where;        ///< "cfg.yml:7: batch_size"; "" if it follows from something else
};

/// A word whose meaning only its script knows, and memtape's options of which one, given by the
/// user, says it instead: "lora-rank peft".
struct UnreadWord {
  std::string where;
  std::string_view instead;
};

struct Translation {
  enum class Command : std::uint8_t { train, serve };
  Command command = Command::train;
  std::string model;        ///< MODEL for `memtape train`; "" if `config` holds it
  std::string served_name;  ///< by which a server calls its model
  std::string engine;       ///< set for a serving command
  std::string config;       ///< the model's configuration, if the command line itself describes it
  std::vector<SaidOption> options;
  std::vector<std::pair<std::string, std::string>> environment;  ///< that of each process
  /// A process is started for each GPU that is found, and nothing says how many there are.
  bool takes_all_gpus = false;
  std::vector<UnreadWord> unread;
  Remarks remarks;
  /// The words that start the program: "python3", "-m", "vllm..."
  std::vector<std::string> program;
  std::vector<std::string> arguments;  ///< the program's own words
  std::span<const Flag> flags;         ///< the program's flags, which mean options
  std::vector<std::string> typed;      ///< the names of those that a server's command gave

  template <class T>
  void add(std::string_view option, const T& value, std::string where = {}) {
    options.push_back({std::string(option), fmt::format("{}", value), std::move(where)});
  }
};

/// Recognises the program that `words` start and translates its arguments. An unknown program is an
/// error that names the nearest known one. `files` are those that its words name.
Result<Translation> translate(std::span<const std::string> words, const Files& files);

}  // namespace memtape::launch
