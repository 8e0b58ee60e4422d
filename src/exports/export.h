// SPDX-License-Identifier: Apache-2.0
// A plan as files that launch it, so this room does the reverse of the readers in src/launch.
// `memtape -- bash run.sh` reads the files back and answers the plan's bytes
// (tests/run_exports.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/config.h"
#include "option/given.h"
#include "report/plan_answer.h"
#include "workload/train_recipe.h"

namespace memtape::exports {

using File = PlanFile;

/// What is launched if the plan is one of training.
struct Training {
  std::string model;  ///< the model as it was typed
  const Config* config = nullptr;
  TrainRecipe recipe;   ///< the recipe of all options
  NamedValues options;  ///< under memtape's names; the last value of an option counts
  std::int64_t gpus = 1, per_node = 8, micro_batches = 1;
};

/// What is launched if the plan is one of serving: equal instances of a server.
struct Server {
  std::string model, engine;
  NamedValues options;                   ///< under the engine's names, without the dashes
  std::int64_t gpus = 1, instances = 1;  ///< `gpus` counts the GPUs of one instance.
};

/// What people are told beside the files.
struct Facts {
  std::string words;  ///< "tp 8 · pp 16 · batch 1 x 16"
  std::string gpu;    ///< "NVIDIA H100 80GB HBM3"
  /// The options of the machine, which stand before the --: "--gpu h100-80gb"
  std::string question;
  std::string memory;     ///< "61.78 GiB on the fullest GPU"
  std::string time;       ///< "3.1 s a step (2.3 to 4.1)"
  std::string allocator;  ///< the PYTORCH_ALLOC_CONF for which the answer holds, or ""
};

struct Export {
  std::vector<File> files;
  std::vector<std::string> assumed;  ///< sentences for the README
  std::string launch;                ///< the command of run.sh on one line: Script::command()
};

/// The files of a plan, with a README.md. If the program cannot be told a setting, the result is an
/// Error that names it.
Result<Export> export_training(const Training& plan, const Facts& facts);
Result<Export> export_server(const Server& plan, const Facts& facts);

}  // namespace memtape::exports
