// SPDX-License-Identifier: Apache-2.0
#include "completion.h"

#include <algorithm>
#include <array>

#include "commands/commands.h"
#include "mesh/gpu_catalog.h"
#include "model/catalog.h"

namespace memtape::cli {
namespace {

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

/// "[on|off]" lists its values, too.
std::vector<Candidate> values_of(const option::Option& option) {
  const std::string_view form = option.form;
  if (option.name() == "gpu" || option.name() == "compare") return gpus();
  if (option.form == "MODEL") return models();
  std::vector<Candidate> all;
  for (const std::string& name : option.choices()) all.push_back({name, ""});
  if (form.find('|') != form.npos && form.find('{') == form.npos)
    for (std::string_view rest = form.substr(1, form.size() - 2); !rest.empty();) {
      const std::string_view word = rest.substr(0, rest.find('|'));
      all.push_back({std::string(word), ""});
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    }
  return all;
}

/// The values of a list go on behind its last comma.
std::vector<Candidate> values_of(const option::Option& option, std::string_view typed) {
  std::vector<Candidate> all = values_of(option);
  const std::size_t comma = typed.rfind(',');
  if (comma == typed.npos || option.form.find("...") == option.form.npos) return all;
  for (Candidate& candidate : all) candidate.word.insert(0, typed.substr(0, comma + 1));
  return all;
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

std::vector<Candidate> all_options(const option::Table& table) {
  std::vector<Candidate> all;
  for (const option::Option* option : table)
    if (!option->help.empty())
      option::any_word(option->spellings, [&](std::string_view spelling) {
        if (spelling.starts_with("--")) all.push_back({std::string(spelling), option->help_line()});
        return false;
      });
  return all;
}

/// Of a command whose name is typed: options, the values of one, or an operand.
std::vector<Candidate> within(const Command& command, Arguments words) {
  const std::string_view typed = words.back();
  const Arguments before = words.first(words.size() - 1);
  const Result<Syntax> syntax = syntax_of(command, before);
  const option::Table table = (syntax ? syntax : syntax_of(command, {}))->table;
  const option::Option* option = before.empty() ? nullptr : option::find(table, before.back());
  if (option && !option->is_switch()) return values_of(*option, typed);
  if (const std::size_t equals = typed.find('='); typed.starts_with("--") && equals != typed.npos) {
    const option::Option* said = option::find(table, typed.substr(0, equals));
    std::vector<Candidate> all;
    if (said) all = values_of(*said, typed.substr(equals + 1));
    for (Candidate& candidate : all) candidate.word.insert(0, typed.substr(0, equals + 1));
    return all;
  }
  if (typed.starts_with('-')) return all_options(table);
  std::size_t operand = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!std::string_view(before[i]).starts_with('-'))
      ++operand;
    else if (const option::Option* said = option::find(table, before[i]);
             said && !said->is_switch())
      ++i;
  }
  return operands(command.name, operand);
}

}  // namespace

std::vector<Candidate> candidates(Arguments words) {
  if (words.empty()) return {};
  if (std::ranges::find(words.first(words.size() - 1), std::string_view("--")) != words.end() - 1)
    return {};  // the words of another program
  std::vector<Candidate> all;
  for (const Command* command : commands())
    if (words.size() == 1)
      all.push_back({std::string(command->name), std::string(command->summary)});
    else if (command->name == words.front())
      all = within(*command, words.subspan(1));
  const std::string_view typed = words.back();
  std::erase_if(all, [typed](const Candidate& c) { return !c.word.starts_with(typed); });
  std::ranges::stable_sort(all, {}, &Candidate::word);
  const auto same = std::ranges::unique(all, {}, &Candidate::word);
  all.erase(same.begin(), same.end());
  return all;
}

}  // namespace memtape::cli
