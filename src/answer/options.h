// SPDX-License-Identifier: Apache-2.0
// What is asked, as plain values: a request whose words have been read, before anything is looked
// up.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/remarks.h"
#include "option/words.h"

namespace memtape::answer {

using option::Arguments;

/// How to answer. Every command takes these.
struct OutputOptions {
  bool json = false;
  bool quiet = false;
  bool explain = false;
  bool strict = false;  ///< "may not fit" counts as "does not fit"
};

/// A question as it was asked: options by name, with their values as typed. The workload room gives
/// them their meaning.
struct RawOptions {
  std::string model = {};
  NamedValues values = {};  ///< ("micro-batch-size", "4") in the order of the table
  /// The options that the user typed, in that order; the value of a switch is "".
  NamedValues typed = {};
  /// Where a launch command says the options: ("bf16", "cfg.yml:7: bf16"), or "".
  NamedValues places = {};
  std::string config = {};               ///< the model's config.json, if no MODEL names it
  std::vector<std::string> tail = {};    ///< "-- COMMAND...", for a launch command
  NamedValues environment = {};          ///< variables that a launch command sets
  Remarks remarks = {};                  ///< what the reader of a launch command reports
  std::string html = {}, snapshot = {};  ///< the files to write, or ""
  bool csv = false;
  bool rules = false;  ///< the well-known rules of thumb are shown with the answer
  OutputOptions output = {};
};

/// `memtape serve MODEL --engine NAME`: the engine's flags by name, with their values as typed (""
/// for a switch). The engine gives them their meaning.
struct ServeCommand {
  std::string model = {};
  std::string engine = {};
  NamedValues values = {};
  NamedValues environment = {};            ///< variables that a launch command sets
  std::vector<std::string> flags = {};     ///< the names of a launch command's flags
  std::vector<std::string> warnings = {};  ///< what the reader of a launch command reports
  /// The launch command with other values of options, as it would be typed. It is null if there is
  /// no launch command.
  std::function<std::string(std::span<const NamedValue>)> corrected = {};
  std::string html = {};  ///< the file to write, or ""
  OutputOptions output = {};
};

}  // namespace memtape::answer
