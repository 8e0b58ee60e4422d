// SPDX-License-Identifier: Apache-2.0
// What each command was asked to do, as plain values: the parsed command line, before anything is
// looked up or opened.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "answer/fits.h"
#include "answer/options.h"
#include "answer/plan_serve.h"

namespace memtape::cli {

using answer::Arguments;
using answer::FitsOptions;
using answer::GpusOptions;
using answer::LaunchOptions;
using answer::ModelsOptions;
using answer::OutputOptions;
using answer::PlanServeOptions;
using answer::PlanTrainOptions;
using answer::RawOptions;
using answer::ServeCommand;

/// `memtape time QUESTIONS`
struct TimeOptions {
  std::string file = {};
  OutputOptions output = {};
};

/// `memtape mcp`
struct McpOptions {
  int seconds = 60;
  OutputOptions output = {};
};

/// `memtape serve-http`
struct HttpOptions {
  int port = 8471;
  std::string host = "127.0.0.1";
  int seconds = 30;
  int workers = 0;  ///< 0: one a core
  int request_bytes = 8 << 20;
  OutputOptions output = {};
};

/// `memtape web`
struct WebOptions {
  int port = 8472;
  std::string folder = {};  ///< "": beside the program
  bool no_open = false;
  OutputOptions output = {};
};

/// `memtape replay TRACE`
struct ReplayOptions {
  std::string trace = {};
  bool place_segments = false;  ///< put segments where the driver would, not where the trace says
  std::string driver_placement = {};  ///< "linux", "first-fit" or "" for the default
  int device = -1;                    ///< of a snapshot of several; -1: the first that has events
  OutputOptions output = {};
};

/// `memtape explain FILE...`
struct ExplainOptions {
  std::vector<std::string> files = {};
  std::vector<std::string> against =
      {};                 ///< words of a prediction: "train MODEL ...", or a command
  int device = -1;        ///< only this one, of a snapshot of several
  std::string html = {};  ///< file to write, or ""
  OutputOptions output = {};
};

/// `memtape detect`
struct DetectOptions {
  bool watch = false;  ///< again and again, until it is ended
  OutputOptions output = {};
};

/// `memtape check [FILE]`
struct CheckOptions {
  std::string file = "memtape.toml";
  bool update = false;  ///< write the lock file
  OutputOptions output = {};
};

/// `memtape watch [options] -- COMMAND...`
struct WatchCommand {
  std::vector<std::string> command = {};
  std::string snapshot = {};  ///< where the snapshot of a run that ran out of memory is kept
  OutputOptions output = {};
};

/// `memtape run [options] -- COMMAND...`
struct RunCommand {
  NamedValues values = {};
  std::vector<std::string> command = {};
  std::string html = {}, snapshot = {};  ///< files to write, or ""
  OutputOptions output = {};
};

/// `memtape verify train MODEL`, and `memtape record train MODEL`, which keeps the real step.
struct VerifyOptions {
  RawOptions train = {};
  std::string python = {};  ///< interpreter, or ""
  bool show_script = false;
  bool records = false;
  std::string into = {}, id = {};  ///< folder and name of the row, when it records
};

/// `memtape verify serve MODEL --engine NAME`
struct VerifyServeOptions {
  ServeCommand serve = {};
  std::string python = {};  ///< interpreter, or ""
  bool show_script = false;
};

/// `memtape scoreboard FILE...`
struct ScoreboardOptions {
  std::vector<std::string> files = {};
  bool markdown = false;
  OutputOptions output = {};
};

/// `memtape diff TAPE MODEL [train options]`
struct DiffOptions {
  std::string tape = {};
  RawOptions train = {};
};

}  // namespace memtape::cli
