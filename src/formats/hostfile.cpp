// SPDX-License-Identifier: Apache-2.0
#include "formats/hostfile.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/text.h"
#include "base/typed_number.h"

namespace memtape {
namespace {

constexpr std::int64_t kMostSlots = 1 << 16;

std::optional<std::int64_t> slots_in(std::string_view text) {
  const auto value = whole_number(text);
  if (!value || *value < 0 || *value > kMostSlots) return std::nullopt;
  return value;
}

/// A host and the slots that are named of it; none are named where all are meant.
using NamedSlots = std::map<std::string, std::set<std::int64_t>, std::less<>>;

/// parse_node_config: the slots of a host are a list of whole numbers.
Result<NamedSlots> named_slots(std::string_view filter, std::string_view flag) {
  NamedSlots named;
  for (const std::string_view node : parts_between(filter, '@')) {
    const std::size_t colon = std::min(node.find(':'), node.size());
    std::set<std::int64_t>& slots = named[std::string(node.substr(0, colon))];
    if (colon == node.size()) continue;
    for (const std::string& word : split_at_commas(node.substr(colon + 1))) {
      const auto slot = slots_in(word);
      if (!slot)
        return bad_input(fmt::format("\"{}\" is no slot of a host", word),
                         fmt::format("{} {}", flag, filter),
                         fmt::format("each by its number: {}:0,1,2,3", node.substr(0, colon)));
      slots.insert(*slot);
    }
  }
  return named;
}

/// deepspeed/launcher/runner.py, main and parse_resource_filter, which raise here.
Result<void> check_choice(const SlotChoice& choice) {
  const bool filtered = !choice.include.empty() || !choice.exclude.empty();
  if (!choice.include.empty() && !choice.exclude.empty())
    return bad_input("only one of --include and --exclude can be given", "deepspeed");
  if (filtered && (choice.hosts || choice.slots_of_each))
    return bad_input("takes no --num_nodes or --num_gpus besides",
                     choice.include.empty() ? "--exclude" : "--include", "one of them");
  return {};
}

}  // namespace

Result<std::vector<Host>> read_hostfile(std::string_view text, const std::string& file) {
  constexpr std::string_view kSlots = "slots=";
  std::vector<Host> hosts;
  for (const std::string_view part : parts_between(text, '\n')) {
    const std::string_view line = trimmed(part);
    if (line.empty() || line.starts_with('#')) continue;
    const std::size_t end = std::min(line.find_first_of(" \t:"), line.size());
    Host host{.name = std::string(line.substr(0, end))};
    std::string_view rest = trimmed(line.substr(end));
    if (const std::size_t at = rest.find(kSlots); at != std::string_view::npos)
      rest = rest.substr(at + kSlots.size());
    else if (rest.starts_with(':'))
      rest.remove_prefix(1);
    rest = rest.substr(0, rest.find_first_of(" \t"));
    const auto slots = rest.empty() ? std::optional<std::int64_t>(1) : slots_in(rest);
    if (!slots)
      return bad_input(fmt::format("unusable line \"{}\"", line), file, "worker-1 slots=8");
    host.slots = *slots;
    hosts.push_back(std::move(host));
  }
  return hosts;
}

std::vector<Host> listed_hosts(std::string_view words) {
  std::vector<Host> hosts;
  for (const std::string& word : split_at_commas(words)) {
    const std::size_t colon = std::min(word.find(':'), word.size());
    const auto slots = colon < word.size() ? slots_in(word.substr(colon + 1)) : std::nullopt;
    hosts.push_back({word.substr(0, colon), slots.value_or(1)});
  }
  return hosts;
}

Result<std::optional<std::int64_t>> chosen_slots(std::vector<Host> hosts,
                                                 const SlotChoice& choice) {
  if (const auto fine = check_choice(choice); !fine) return tl::unexpected(fine.error());
  // What a shell would find out: localhost:$(seq -s, 0 3).
  for (const std::string* filter : {&choice.include, &choice.exclude})
    if (filter->find('$') != std::string::npos) return std::nullopt;
  const auto included = named_slots(choice.include, "--include");
  const auto excluded = named_slots(choice.exclude, "--exclude");
  if (!included || !excluded) return tl::unexpected((included ? excluded : included).error());
  if (choice.hosts && *choice.hosts < static_cast<std::int64_t>(hosts.size()))
    hosts.resize(static_cast<std::size_t>(*choice.hosts));
  if (choice.slots_of_each)
    for (Host& host : hosts) host.slots = *choice.slots_of_each;
  std::int64_t chosen = 0;
  const auto add_slots = [&](const NamedSlots& named, std::int64_t sign) {
    for (const auto& [name, slots] : named) {
      const auto host = std::ranges::find(hosts, name, &Host::name);
      if (host == hosts.end() && (slots.empty() || sign < 0)) return false;
      const auto count = static_cast<std::int64_t>(slots.size());
      chosen += sign * (count > 0 ? count : host->slots);
    }
    return true;
  };
  if (choice.include.empty())
    for (const Host& host : hosts) chosen += host.slots;
  if (!add_slots(*included, 1) || !add_slots(*excluded, -1)) return std::nullopt;
  if (chosen < 1) return std::nullopt;
  return chosen;
}

}  // namespace memtape
