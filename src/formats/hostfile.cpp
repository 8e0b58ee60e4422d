// SPDX-License-Identifier: Apache-2.0
#include "formats/hostfile.h"

#include <algorithm>

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
struct NamedSlots {
  std::string_view host;
  std::int64_t slots = 0;
};

std::vector<NamedSlots> named_slots(std::string_view filter) {
  std::vector<NamedSlots> named;
  for (const std::string_view node : parts_between(filter, '@')) {
    const std::size_t colon = node.find(':');
    if (colon == std::string_view::npos)
      named.push_back({node, 0});
    else
      named.push_back({node.substr(0, colon),
                       static_cast<std::int64_t>(split_at_commas(node.substr(colon + 1)).size())});
  }
  return named;
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

std::optional<std::int64_t> chosen_slots(std::vector<Host> hosts, const SlotChoice& choice) {
  if (choice.hosts && *choice.hosts < static_cast<std::int64_t>(hosts.size()))
    hosts.resize(static_cast<std::size_t>(*choice.hosts));
  if (choice.slots_of_each)
    for (Host& host : hosts) host.slots = *choice.slots_of_each;
  const auto slots_of = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto host = std::ranges::find(hosts, name, &Host::name);
    return host == hosts.end() ? std::nullopt : std::optional(host->slots);
  };
  std::int64_t chosen = 0;
  if (!choice.include.empty()) {
    for (const NamedSlots& named : named_slots(choice.include)) {
      const auto slots = named.slots > 0 ? std::optional(named.slots) : slots_of(named.host);
      if (!slots) return std::nullopt;
      chosen += *slots;
    }
    return chosen;
  }
  if (hosts.empty()) return std::nullopt;
  for (const Host& host : hosts) chosen += host.slots;
  if (choice.exclude.empty()) return chosen;
  for (const NamedSlots& named : named_slots(choice.exclude)) {
    const auto all = slots_of(named.host);
    if (!all) return std::nullopt;
    chosen -= named.slots > 0 ? std::min(named.slots, *all) : *all;
  }
  return chosen;
}

}  // namespace memtape
