// SPDX-License-Identifier: Apache-2.0
// What is asked, as plain values: a request whose words are read, before anything is looked up.
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

/// How to answer; every command takes these.
struct OutputOptions {
  bool json = false;
  bool quiet = false;
  bool explain = false;
  bool strict = false;  ///< "may not fit" counts as "does not fit"
};

/// A question as it was said: options by name with their values as typed; the workload room gives
/// them their meaning.
struct RawOptions {
  std::string model = {};
  NamedValues values = {};  ///< ("micro-batch-size", "4") in the order of the table
  NamedValues typed = {};   ///< those that the user typed, in that order; a switch has the value ""
  std::string config = {};  ///< the model's config.json, when no MODEL names it
  std::vector<std::string> tail = {};    ///< "-- COMMAND...", of a launch command
  NamedValues environment = {};          ///< variables that a launch command sets
  Remarks remarks = {};                  ///< from the reading of a launch command
  std::string html = {}, snapshot = {};  ///< files to write, or ""
  bool csv = false;
  bool rules = false;  ///< the well-known rules of thumb beside the answer
  OutputOptions output = {};
};

/// `memtape serve MODEL --engine NAME`: the engine's flags by name, values as typed ("" for a
/// switch); the engine gives them their meaning.
struct ServeCommand {
  std::string model = {};
  std::string engine = {};
  NamedValues values = {};
  NamedValues environment = {};            ///< variables that a launch command sets
  std::vector<std::string> warnings = {};  ///< from the reading of a launch command
  /// The launch command with other values of options, as it would be typed; null without one.
  std::function<std::string(std::span<const NamedValue>)> corrected = {};
  std::string html = {};  ///< file to write, or ""
  OutputOptions output = {};
};

}  // namespace memtape::answer
