// SPDX-License-Identifier: Apache-2.0
// The whole program as one function: a request as JSON in, an answer out, byte for byte what the
// command line prints with --json. Nothing is opened, printed or started here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "answer/handed.h"
#include "answer/request.h"

namespace memtape::answer {

struct Answered {
  std::string text;
  int exit_code = 0;  ///< ExitCode
};

/// Answers `request` (answer/request.h) with what `files` hold. An error is an answer, too:
/// {"error": {"what", "where", "hint"}}, with "wanted" where a file, or more of one, would help.
Answered answer(std::string_view request, const std::vector<HandedFile>& files = {});

/// What a request brings along itself, which must outlive it, beside `files`.
Handed handed_with(const Request& request, std::vector<HandedFile> files = {});

/// Answers a request that was read, with an outside of the caller's choice.
Result<Answered> answer_request(const Request& request, const Outside& outside);

/// The words of the command line that ask the same.
Result<std::vector<std::string>> words_of(const Request& request);

/// {"error": ...}, and the exit code of its kind.
Answered answer_of(const Error& error, const std::vector<Wanted>& wanted = {});

}  // namespace memtape::answer
