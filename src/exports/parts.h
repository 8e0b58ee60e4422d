// SPDX-License-Identifier: Apache-2.0
// What exports to several programs have in common.
#pragma once

#include "exports/export.h"
#include "exports/script.h"

namespace memtape::exports {

/// The last value of an option; nothing where nobody says it.
std::optional<std::string> said(const Options& options, std::string_view name);

/// Options of the machine that is asked about, not of the program.
bool is_of_question(std::string_view option);

std::int64_t nodes_of(const Training& plan);

/// The start of a script: what it runs, and which allocator settings the bytes stand for.
Script begin_script(const Facts& facts);

/// torchrun with its processes and, on several nodes, where they meet.
void start_torchrun(Script& script, const Training& plan, Export& out);

/// The files of each program, without the README.
Result<Export> export_megatron(const Training& plan, const Facts& facts);
Result<Export> export_plain_loop(const Training& plan, const Facts& facts);
Result<Export> export_trainer(const Training& plan, const Facts& facts);
Result<Export> export_torchtitan(const Training& plan, const Facts& facts);

/// README.md: what lies there, how to start it, what was assumed.
File readme(const Export& files, const Facts& facts, std::string_view model,
            std::string_view program);

}  // namespace memtape::exports
