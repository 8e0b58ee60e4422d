// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "exports/parts.h"

namespace memtape::exports {

File readme(const Export& files, const Facts& facts, std::string_view model,
            std::string_view program) {
  std::string text = fmt::format("# {} by {}\n\n{}\n\n", model, program, facts.words);
  if (!facts.memory.empty()) text += fmt::format("- memory: {}\n", facts.memory);
  if (!facts.time.empty()) text += fmt::format("- time: {}, an estimate\n", facts.time);
  if (!facts.gpu.empty()) text += fmt::format("- on: {}\n", facts.gpu);
  text +=
      "\nStart it, or have memtape read it back (nothing is run, the bytes are the plan's):\n\n";
  text += fmt::format("    bash run.sh\n    memtape {}-- bash run.sh\n",
                      facts.question.empty() ? "" : facts.question + " ");
  text += "\nWords behind run.sh go to the program.\n\n| file | is |\n|---|---|\n";
  for (const File& file : files.files) {
    const std::string& n = file.name;
    const std::string_view what = n == "run.sh"                 ? "the command and its environment"
                                  : n.ends_with(".py")          ? "the program"
                                  : n == "compose.yaml"         ? "the same in containers"
                                  : n == "bridge_overrides.txt" ? "the same for Megatron-Bridge"
                                                                : "its settings";
    text += fmt::format("| {} | {} |\n", n, what);
  }
  if (!files.assumed.empty()) text += "\nAssumed:\n\n";
  for (const std::string& sentence : files.assumed) text += "- " + sentence + "\n";
  return {.name = "README.md", .text = std::move(text)};
}

}  // namespace memtape::exports
