// SPDX-License-Identifier: Apache-2.0
// The whole program as one function: it takes a request as JSON and returns an answer, byte for
// byte what the command line prints with --json. Nothing is opened, printed or started here.
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
/// {"error": {"what", "where", "hint"}}. It has a member "wanted" if a file, or more of one, would
/// help.
Answered answer(std::string_view request, const std::vector<HandedFile>& files = {});

/// What a request itself brings, in addition to `files`. The request must outlive it.
Handed handed_with(const Request& request, std::vector<HandedFile> files = {});

/// Answers a request that has been read. The caller chooses what is outside.
Result<Answered> answer_request(const Request& request, const Outside& outside);

/// The words of the command line that ask the same question.
Result<std::vector<std::string>> words_of(const Request& request);

/// {"error": ...}, with the exit code for this kind of error.
Answered answer_of(const Error& error, const std::vector<Wanted>& wanted = {});

}  // namespace memtape::answer
