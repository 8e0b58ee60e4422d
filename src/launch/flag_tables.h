// SPDX-License-Identifier: Apache-2.0
// The tables of flags (data/launch, one a program): a program's own spellings, and the environment
// variables that stand for some of them. What an engine's flags mean is told by the engine alone.
#pragma once

#include <span>

#include "launch/flags.h"
#include "serving/serve_engine.h"

namespace memtape::launch {

struct VariableOfFlag {
  std::string_view variable, flag;
};

struct FlagTable {
  std::span<const Flag> flags;
  std::span<const VariableOfFlag> variables;  ///< an empty name where there is none
};

/// The flags with the names that `memtape serve` has for those which it takes, too.
std::vector<Flag> as_served_by(const ServeEngine& engine, std::span<const Flag> flags);

}  // namespace memtape::launch

namespace memtape::data {

std::span<const launch::Flag> megatron_arguments();  ///< meanings: the attributes that they set
launch::FlagTable accelerate_flags();
launch::FlagTable compose_flags();
launch::FlagTable deepspeed_flags();
launch::FlagTable docker_flags();
launch::FlagTable env_flags();
launch::FlagTable kubectl_flags();
launch::FlagTable llama_bench_flags();
launch::FlagTable llamacpp_flags();
launch::FlagTable mpirun_flags();
launch::FlagTable plain_flags();
launch::FlagTable plain_loop_flags();
launch::FlagTable python_flags();
launch::FlagTable sglang_flags();
launch::FlagTable sglang_environment_flags();
launch::FlagTable shell_flags();
launch::FlagTable srun_flags();
launch::FlagTable torchrun_flags();
launch::FlagTable vllm_flags();
launch::FlagTable vllm_environment_flags();

}  // namespace memtape::data
