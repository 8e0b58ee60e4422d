// SPDX-License-Identifier: Apache-2.0
// The plain loop on one GPU.
#include "framework/torch/dialect.h"

#include "framework/torch/dialect_parts.h"
#include "framework/torch/lora_config.h"
#include "framework/torch/optimizer_in_backward.h"

namespace memtape::torch {
namespace {

constexpr std::array kAbsent{kNoOffload};

}  // namespace

extern const Dialect kDialect;
constinit const Dialect kDialect{.framework = {.name = "torch",
                                               .summary = "a plain loop of PyTorch on one GPU",
                                               .takes = {.several_gpus = false, .compile = true},
                                               .absent = kAbsent,
                                               .arguments = kPeftArguments,
                                               .argument = peft_argument,
                                               .strategy = read_loop_strategy},
                                 .run = run_alike<run_training>,
                                 .space = PlanSpace::data_parallel,
                                 .planned = {.on_one_gpu = 1},
                                 .exported = ExportedProgram::plain_loop,
                                 .real_step = RealStep::plain_loop};

}  // namespace memtape::torch
