// SPDX-License-Identifier: Apache-2.0
// What each command that answers may be told, as tables (option/option.h): the options of `train`
// and of its kin, of `plan`, of `serve` with one engine, and how to answer.
#pragma once

#include <span>
#include <string_view>

#include "option/words.h"
#include "workload/serve_options.h"

namespace memtape::answer {

/// Options about the answer, which `train` takes; the last three every command takes.
std::span<const option::Option> answer_options();
std::span<const option::Option> output_options();
inline constexpr std::string_view kAnswerGroup = "Answer";
inline constexpr option::Option kPlansAsCsv{"--csv", "", "the plans as CSV, alone on the output",
                                            kAnswerGroup};

std::span<const option::Option> plan_options();
std::span<const option::Option> plan_serve_options();

/// What `plan train` takes: its own, and those of train that ask nothing else.
option::Table plan_train_table();
/// What stands before the -- of a launch command: train's options, and questions about servers.
option::Table launch_table();
/// Questions about servers alone.
bool is_server_question(std::string_view name);

std::span<const option::Option> serve_options();
std::span<const option::Option> serve_answer_options();

inline constexpr option::Operand kModel{
    "MODEL", "catalog name, hub id, directory, config.json or .safetensors file"};

}  // namespace memtape::answer
