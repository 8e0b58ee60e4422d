// SPDX-License-Identifier: Apache-2.0
#include "asked.h"

#include <algorithm>

#include <fmt/format.h>

#include "answer/command_words.h"
#include "outside_process.h"

namespace memtape::cli {
namespace {

using answer::Launched;
using option::Arguments;

Result<Launched> asked_of_server(Arguments words) {
  const Result<option::Syntax> syntax = answer::serve_syntax({.words = words});
  if (!syntax) return tl::unexpected(syntax.error());
  const Result<option::Words> read = option::read_words(*syntax, words);
  if (!read) return tl::unexpected(read.error());
  Result<answer::ServeCommand> server = answer::server_of(*read);
  if (!server) return tl::unexpected(server.error());
  return Launched(std::move(*server));
}

Result<Launched> asked_of_training(Arguments words) {
  const Result<option::Words> read = option::read_words(answer::train_syntax(), words);
  if (!read) return tl::unexpected(read.error());
  return Launched(answer::asked_of(*read));
}

Result<Launched> asked_of_launch(Arguments words) {
  const Result<option::Words> read = option::read_words(answer::launch_syntax(), words);
  if (!read) return tl::unexpected(read.error());
  return answer::launched(*read, outside_process());
}

}  // namespace

Result<Launched> asked_by(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  const Arguments all(pointers);
  if (std::ranges::find(words, "--") != words.end()) return asked_of_launch(all);
  const std::string first = words.empty() ? "" : words.front();
  if (first == "train") return asked_of_training(all.subspan(1));
  if (first == "serve") return asked_of_server(all.subspan(1));
  return bad_input(fmt::format("'{}' asks for no prediction", first), {},
                   "train, serve, or [options] -- COMMAND");
}

}  // namespace memtape::cli
