// SPDX-License-Identifier: Apache-2.0
// What each command was asked to do, as plain values: the parsed command line, before anything is
// looked up or opened.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "launch/settings/remarks.h"

namespace memtape::cli {

/// How to answer; every command takes these.
struct OutputOptions {
  bool json = false;
  bool quiet = false;
  bool explain = false;
  bool strict = false;  ///< "may not fit" counts as "does not fit"
};

/// `memtape replay TRACE`
struct ReplayOptions {
  std::string trace;
  bool place_segments = false;   ///< put segments where the driver would, not where the trace says
  std::string driver_placement;  ///< "linux", "first-fit" or "" for the default
  int device = -1;               ///< of a snapshot of several; -1: the first that has events
  OutputOptions output;
};

/// `memtape explain FILE...`
struct ExplainOptions {
  std::vector<std::string> files;
  std::vector<std::string> against;  ///< words of a prediction: "train MODEL ...", or a command
  int device = -1;                   ///< only this one, of a snapshot of several
  std::string html;                  ///< file to write, or ""
  OutputOptions output;
};

/// `memtape detect`
struct DetectOptions {
  bool watch = false;  ///< again and again, until it is ended
  OutputOptions output;
};

/// `memtape check [FILE]`
struct CheckOptions {
  std::string file = "memtape.toml";
  bool update = false;  ///< write the lock file
  OutputOptions output;
};

/// `memtape watch [options] -- COMMAND...`
struct WatchCommand {
  std::vector<std::string> command;
  std::string snapshot;  ///< where the snapshot of a run that ran out of memory is kept
  OutputOptions output;
};

/// `memtape models [ID]`
struct ModelsOptions {
  std::string id;
  OutputOptions output;
};

/// `memtape gpus [ID]`
struct GpusOptions {
  std::string id;
  OutputOptions output;
};

/// Options by name with their values as typed; the workload room gives them their meaning.
struct RawOptions {
  std::string model;
  std::vector<std::pair<std::string, std::string>>
      values;  ///< ("micro-batch-size", "4") in the order of the table
  std::vector<std::pair<std::string, std::string>>
      typed;           ///< those that the user typed, in that order; a switch has the value ""
  std::string config;  ///< the model's config.json, when no MODEL names it
  std::vector<std::string> tail;  ///< "-- COMMAND...", of a launch command
  std::vector<std::pair<std::string, std::string>>
      environment;             ///< variables that a launch command sets
  launch::Remarks remarks;     ///< from the reading of a launch command
  std::string html, snapshot;  ///< files to write, or ""
  bool csv = false;
  bool rules = false;  ///< the well-known rules of thumb beside the answer
  OutputOptions output;
};

/// What is asked of servers alone, before the -- of a launch command, too.
inline constexpr std::array<std::string_view, 6> kServerQuestions{
    "engine-version", "solve", "compare", "users", "context", "output"};

/// `memtape [options] -- COMMAND...`
struct LaunchOptions {
  RawOptions given;  ///< what stands before the --
  std::vector<std::string> command;
};

/// `memtape serve MODEL --engine NAME`: the engine's flags by name, values as typed ("" for a
/// switch); the engine gives them their meaning.
struct ServeCommand {
  std::string model;
  std::string engine;
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::pair<std::string, std::string>>
      environment;                    ///< variables that a launch command sets
  std::vector<std::string> warnings;  ///< from the reading of a launch command
  /// The launch command with other values of options, as it would be typed; null without one.
  std::function<std::string(std::span<const std::pair<std::string, std::string>>)> corrected;
  std::string html;     ///< file to write, or ""
  bool strict = false;  ///< what may not fit does not
  OutputOptions output;
};

/// `memtape run [options] -- COMMAND...`
struct RunCommand {
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<std::string> command;
  std::string html, snapshot;  ///< files to write, or ""
  OutputOptions output;
};

/// `memtape verify train MODEL`, and `memtape record train MODEL`, which keeps the real step.
struct VerifyOptions {
  RawOptions train;
  std::string python;  ///< interpreter, or ""
  bool show_script = false;
  bool records = false;
  std::string into, id;  ///< folder and name of the row, when it records
};

/// `memtape verify serve MODEL --engine NAME`
struct VerifyServeOptions {
  ServeCommand serve;
  std::string python;  ///< interpreter, or ""
  bool show_script = false;
};

/// `memtape scoreboard FILE...`
struct ScoreboardOptions {
  std::vector<std::string> files;
  bool markdown = false;
  OutputOptions output;
};

/// `memtape diff TAPE MODEL [train options]`
struct DiffOptions {
  std::string tape;
  RawOptions train;
};

}  // namespace memtape::cli
