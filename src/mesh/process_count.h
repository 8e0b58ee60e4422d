// SPDX-License-Identifier: Apache-2.0
// ProcessCount: how many processes a program is started as, one for each GPU, from what launchers,
// job systems and variables say of it, each under its own names.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace memtape {

struct ProcessCount {
  std::optional<std::int64_t> on_all, on_node, nodes;
  /// The GPUs of a node that a container, a job or a flavor grants.
  std::optional<std::int64_t> granted;
  /// A process is started for each GPU that is found, where no number is given.
  bool one_for_each_gpu = false;

  /// What is said under a name, by flags or by variables.
  using Said = std::function<std::optional<std::string>(std::string_view name)>;
  struct Name {
    std::string_view name;
    std::optional<std::int64_t> ProcessCount::* into;
  };
  /// Notes what is said under these names. "1:4" (elastic) is its upper end, "gpu:a100:8" (Slurm)
  /// its last part; "gpu", "auto" and what a shell would find out stand for all GPUs there are.
  Result<void> note(const Said& said, std::initializer_list<Name> names);

  /// What srun reads of Slurm's variables where its words say nothing.
  Result<void> read_slurm(const Said& variable);
  /// What torchrun reads of its PET_ variables where its words say nothing.
  Result<void> read_torchrun(const Said& variable);
  /// The variables that Slurm sets for what it starts.
  std::vector<std::pair<std::string, std::string>> slurm_variables(const Said& variable) const;

  /// A launcher starts the processes itself, whatever started it.
  void start_afresh() {
    on_all.reset(), on_node.reset();
    one_for_each_gpu = false;
  }

  /// How many GPUs of a node CUDA_VISIBLE_DEVICES and its like, or what grants them, leave.
  std::optional<std::int64_t> visible(const Said& variable) const;
  /// The processes on all nodes. It is nothing where nothing says it.
  std::optional<std::int64_t> total(const Said& variable) const;
};

}  // namespace memtape
