// SPDX-License-Identifier: Apache-2.0
// A plan as files that launch it: the readers of src/launch in reverse. What is written is read
// back by `memtape -- bash run.sh`, which answers the plan's bytes (tests/exports).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/config.h"
#include "report/plan_answer.h"
#include "workload/train_recipe.h"

namespace memtape::exports {

using Options = std::vector<std::pair<std::string, std::string>>;

using File = PlanFile;

/// What is launched: a plan of training.
struct Training {
  std::string model;  ///< as it was typed
  const Config* config = nullptr;
  TrainRecipe recipe;  ///< of all options
  Options options;     ///< by memtape's names; the last value counts
  std::int64_t gpus = 1, per_node = 8, micro_batches = 1;
};

/// What is launched: instances of a server, alike.
struct Server {
  std::string model, engine;
  Options options;                       ///< by the engine's names, without dashes before them
  std::int64_t gpus = 1, instances = 1;  ///< GPUs of an instance
};

/// What people read beside it.
struct Facts {
  std::string words;      ///< "tp 8 · pp 16 · batch 1 x 16"
  std::string gpu;        ///< "NVIDIA H100 80GB HBM3"
  std::string question;   ///< options of the machine, which stand before the --: "--gpu h100-80gb"
  std::string memory;     ///< "61.78 GiB on the fullest GPU"
  std::string time;       ///< "3.1 s a step (2.3 to 4.1)"
  std::string allocator;  ///< PYTORCH_ALLOC_CONF that the answer stands for, or ""
};

struct Export {
  std::vector<File> files;
  std::vector<std::string> assumed;  ///< sentences for the README
};

/// The files of a plan; README.md is among them. A setting that the program cannot be told is an
/// Error that names it.
Result<Export> export_training(const Training& plan, const Facts& facts);
Result<Export> export_server(const Server& plan, const Facts& facts);

}  // namespace memtape::exports
