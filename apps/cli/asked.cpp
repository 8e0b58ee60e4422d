// SPDX-License-Identifier: Apache-2.0
#include "asked.h"

#include <algorithm>

#include <fmt/format.h>

#include "answer/command_words.h"
#include "outside_process.h"

namespace memtape::cli {
namespace {

using answer::Arguments;
using answer::Launched;

Result<Launched> asked_of_server(Arguments words) {
  Result<answer::ServeWords> read = answer::read_serve_words({.words = words});
  if (!read) return tl::unexpected(read.error());
  if (!read->help.empty()) return bad_input("asks for help, not for an answer", "serve");
  return Launched(std::move(read->command));
}

Result<Launched> asked_of_training(Arguments words) {
  Result<answer::RawOptions> read = answer::read_train_words(words);
  if (!read) return tl::unexpected(read.error());
  return Launched(std::move(*read));
}

}  // namespace

Result<Launched> asked_by(const std::vector<std::string>& words) {
  std::vector<const char*> pointers;
  for (const std::string& word : words) pointers.push_back(word.c_str());
  const Arguments all(pointers);
  const auto dashes = std::ranges::find(words, "--");
  if (dashes != words.end()) {
    const auto before = static_cast<std::size_t>(dashes - words.begin());
    const Result<answer::LaunchOptions> launch =
        answer::read_launch_words(all.first(before), all.subspan(before + 1));
    if (!launch) return tl::unexpected(launch.error());
    return answer::launched(*launch, outside_process());
  }
  const std::string first = words.empty() ? "" : words.front();
  if (first == "train") return asked_of_training(all.subspan(1));
  if (first == "serve") return asked_of_server(all.subspan(1));
  return bad_input(fmt::format("'{}' asks for no prediction", first), {},
                   "train, serve, or [options] -- COMMAND");
}

}  // namespace memtape::cli
