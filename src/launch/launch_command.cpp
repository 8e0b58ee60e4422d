// SPDX-License-Identifier: Apache-2.0
#include "launch/launch_command.h"

#include "formats/shell.h"
#include "launch/wrappers.h"

namespace memtape::launch {
namespace {

std::string last_part(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

ProcessCount::Said LaunchCommand::variables() const {
  return [this](std::string_view name) -> std::optional<std::string> {
    const std::string* value = variable(name);
    return value ? std::optional(*value) : std::nullopt;
  };
}

const std::string* LaunchCommand::variable(std::string_view name) const {
  const std::string* last = nullptr;
  for (const auto& [variable, value] : environment)
    if (variable == name) last = &value;
  return last;
}

Result<LaunchCommand> unwrap(std::span<const std::string> words, const Files& files, int scripts) {
  LaunchCommand command;
  command.files = &files;
  command.scripts = scripts;
  while (!words.empty()) {
    if (auto variable = shell_assignment(words.front())) {
      command.environment.push_back(*std::move(variable));
      words = words.subspan(1);
      continue;
    }
    const Result<Unwrapped> inner = unwrap_once(words, command);
    if (!inner) return tl::unexpected(inner.error());
    words = inner->rest;
    if (inner->kind == Unwrapped::Kind::wrapper) continue;
    if (words.empty()) break;
    command.path = words.front();
    command.is_module = inner->kind == Unwrapped::Kind::module;
    command.program =
        inner->kind == Unwrapped::Kind::module ? words.front() : last_part(words.front());
    command.arguments.assign(words.begin() + 1, words.end());
    return command;
  }
  return bad_input("names no program", "the command after --",
                   "for example: memtape -- torchrun --nproc-per-node 8 pretrain_gpt.py ...");
}

}  // namespace memtape::launch
