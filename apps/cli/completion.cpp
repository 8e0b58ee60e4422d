// SPDX-License-Identifier: Apache-2.0
#include "completion.h"

#include <algorithm>
#include <array>

#include "base/comma_list.h"
#include "base/text.h"
#include "command_line.h"
#include "mesh/gpu_catalog.h"
#include "model/catalog.h"

namespace memtape::cli {
namespace {

/// An option as a help text shows it: "  --optimizer-impl {fused,foreach}   which of ...".
struct ShownOption {
  std::vector<std::string> spellings;
  std::string value, help;
};

bool is_option_line(std::string_view line) {
  return line.starts_with("  -") && line.size() > 3 && line[3] != ' ';
}

ShownOption read_option(std::string_view line) {
  ShownOption option;
  line.remove_prefix(2);
  const std::size_t gap = line.find("  ");
  std::string_view left = line.substr(0, gap);
  if (gap != line.npos) option.help = trimmed(line.substr(gap));
  while (!left.empty()) {
    const std::size_t end = std::min(left.find_first_of(" ,"), left.size());
    const std::string_view word = left.substr(0, end);
    if (word.starts_with('-')) {
      option.spellings.emplace_back(word);
    } else if (!word.empty()) {
      option.value = trimmed(left);
      break;
    }
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return option;
}

std::vector<ShownOption> shown_options(std::string_view help) {
  std::vector<ShownOption> options;
  while (!help.empty()) {
    const std::string_view line = help.substr(0, help.find('\n'));
    help.remove_prefix(std::min(help.size(), line.size() + 1));
    if (is_option_line(line))
      options.push_back(read_option(line));
    else if (!options.empty() && options.back().help.empty() && line.starts_with("     "))
      options.back().help = trimmed(line);
  }
  return options;
}

/// The help text that goes with what was typed: of `plan serve`, or of one engine.
std::string help_of(Arguments typed) {
  std::vector<const char*> words{typed.front()};
  const std::string_view command = typed.front();
  if ((command == "plan" || command == "verify") && typed.size() > 1 &&
      typed[1] == std::string_view("serve"))
    words.push_back(typed[1]);
  for (std::size_t i = 1; i + 1 < typed.size(); ++i)
    if (typed[i] == std::string_view("--engine"))
      words.insert(words.end(), {typed[i], typed[i + 1]});
  words.push_back("--help");
  const Result<Request> help = parse_command_line(words);
  const Message* message = help ? std::get_if<Message>(&*help) : nullptr;
  return message ? message->text : "";
}

std::vector<Candidate> gpus() {
  std::vector<Candidate> all;
  for (const Gpu& gpu : gpu_catalog()) all.push_back({std::string(gpu.id), std::string(gpu.name)});
  return all;
}

std::vector<Candidate> models() {
  std::vector<Candidate> all;
  for (const CatalogEntry& entry : model_catalog()) all.push_back({std::string(entry.id), ""});
  return all;
}

/// "{a,b,...}" as its words.
std::vector<Candidate> choices(std::string_view value) {
  std::vector<Candidate> all;
  const std::size_t open = value.find('{'), close = value.find('}');
  if (open == value.npos || close == value.npos) return all;
  for (const std::string& word : split_at_commas(value.substr(open + 1, close - open - 1)))
    if (word != "...") all.push_back({word, ""});
  return all;
}

std::vector<Candidate> values_of(const ShownOption& option) {
  if (std::ranges::find(option.spellings, "--gpu") != option.spellings.end()) return gpus();
  if (std::ranges::find(option.spellings, "--compare") != option.spellings.end()) return gpus();
  return choices(option.value);
}

bool takes_model(std::string_view command, std::size_t operand) {
  constexpr std::array<std::string_view, 3> kFirst{"train", "serve", "models"};
  constexpr std::array<std::string_view, 3> kSecond{"plan", "verify", "record"};
  return (operand == 0 && std::ranges::find(kFirst, command) != kFirst.end()) ||
         (operand == 1 && std::ranges::find(kSecond, command) != kSecond.end());
}

std::vector<Candidate> operands(std::string_view command, std::size_t operand) {
  if (takes_model(command, operand)) return models();
  if (command == "gpus" && operand == 0) return gpus();
  if ((command == "plan" || command == "verify") && operand == 0)
    return {{"train", "one training step"}, {"serve", "an inference server"}};
  if (command == "record" && operand == 0) return {{"train", "one training step"}};
  return {};
}

/// Of a command whose name is typed: options, the values of one, or an operand.
std::vector<Candidate> within(Arguments words) {
  const std::string_view typed = words.back();
  const Arguments before = words.first(words.size() - 1);
  const std::vector<ShownOption> options = shown_options(help_of(before));
  const auto named = [&](std::string_view word) {
    return std::ranges::find_if(options, [word](const ShownOption& option) {
      return std::ranges::find(option.spellings, word) != option.spellings.end();
    });
  };
  if (const auto option = named(before.back()); option != options.end() && !option->value.empty())
    return values_of(*option);
  if (typed.starts_with('-')) {
    std::vector<Candidate> all;
    for (const ShownOption& option : options)
      for (const std::string& spelling : option.spellings)
        if (spelling.starts_with("--")) all.push_back({spelling, option.help});
    return all;
  }
  std::size_t operand = 0;
  for (std::size_t i = 1; i < before.size(); ++i) {
    if (std::string_view(before[i]).starts_with('-')) {
      const auto option = named(before[i]);
      if (option != options.end() && !option->value.empty()) ++i;
    } else {
      ++operand;
    }
  }
  return operands(before.front(), operand);
}

}  // namespace

std::vector<Candidate> candidates(Arguments words, const std::vector<CommandName>& commands) {
  if (words.empty()) return {};
  if (std::ranges::find(words.first(words.size() - 1), std::string_view("--")) != words.end() - 1)
    return {};  // the words of another program
  std::vector<Candidate> all;
  if (words.size() == 1)
    for (const auto& [name, summary] : commands)
      all.push_back({std::string(name), std::string(summary)});
  else
    all = within(words);
  const std::string_view typed = words.back();
  std::erase_if(all, [typed](const Candidate& c) { return !c.word.starts_with(typed); });
  std::ranges::stable_sort(all, {}, &Candidate::word);
  const auto same = std::ranges::unique(all, {}, &Candidate::word);
  all.erase(same.begin(), same.end());
  return all;
}

}  // namespace memtape::cli
