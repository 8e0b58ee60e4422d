// SPDX-License-Identifier: Apache-2.0
// What the exports to several programs have in common.
#pragma once

#include "exports/export.h"
#include "exports/script.h"
#include "model/config.h"
#include "option/given.h"

namespace memtape::exports {

/// The last value of an option, or nothing if nobody set it.
std::optional<std::string> said(const NamedValues& options, std::string_view name);

/// A value as a word of a command line: a text without its quotes.
std::string word_of(const Config& c, const std::string& key);

/// Whether an option belongs to the machine that is asked about, and not to the program.
bool is_of_question(std::string_view option);

std::int64_t nodes_of(const Training& plan);

/// The start of a script: a comment that says what it runs, and the allocator settings for which
/// the bytes hold.
Script begin_script(const Facts& facts);

/// Starts torchrun with the number of its processes and, on several nodes, the address where they
/// meet.
void start_torchrun(Script& script, const Training& plan, Export& out);

/// The files for each program, without the README.
Result<Export> export_megatron(const Training& plan, const Facts& facts);
Result<Export> export_plain_loop(const Training& plan, const Facts& facts);
Result<Export> export_trainer(const Training& plan, const Facts& facts);
Result<Export> export_torchtitan(const Training& plan, const Facts& facts);

/// README.md: which files there are, how to start the program, and what was assumed.
File readme(const Export& files, const Facts& facts, std::string_view model,
            std::string_view program);

}  // namespace memtape::exports
