// SPDX-License-Identifier: Apache-2.0
#include "evidence/layers.h"

#include <algorithm>
#include <map>
#include <utility>

namespace memtape {
namespace {

/// The event of each column, with what is reserved there.
void choose_columns(const Recording& recording, const Held& held, std::size_t columns, Layers& to) {
  const auto& events = recording.trace.events;
  std::vector<Bytes> change(events.size());
  for (const BlockLife& life : held.lives) {
    if (!life.is_older) change[life.born] += life.size;
    if (life.died != kAlways) change[life.died] -= life.size;
  }
  const std::size_t every = std::max<std::size_t>(1, (events.size() + columns - 1) / columns);
  Levels now = held.start.levels;
  Bytes highest = -1;
  for (std::size_t i = 0; i < events.size(); ++i) {
    now.allocated += change[i];
    now.reserved += change_of_reserved(events[i]);
    if (i % every == 0) {
      to.events.push_back(0);
      to.reserved.push_back(0);
      highest = -1;
    }
    if (now.allocated <= highest) continue;
    highest = now.allocated;
    to.events.back() = static_cast<std::uint32_t>(i);
    to.reserved.back() = now.reserved;
  }
}

/// Columns [first, second) after whose events the block is there.
std::pair<std::size_t, std::size_t> columns_of(const BlockLife& life,
                                               const std::vector<std::uint32_t>& events) {
  const auto at = [&](std::uint32_t event) {
    return static_cast<std::size_t>(std::ranges::lower_bound(events, event) - events.begin());
  };
  return {life.is_older ? 0 : at(life.born), life.died == kAlways ? events.size() : at(life.died)};
}

using LayerKey = std::pair<Category, std::string>;

/// All parts, each as its changes from column to column and then as bytes.
std::map<LayerKey, std::vector<Bytes>> all_parts(const Held& held, Stories& stories,
                                                 const std::vector<std::uint32_t>& events) {
  std::map<LayerKey, std::vector<Bytes>> parts;
  std::map<std::pair<Category, StackId>, std::vector<Bytes>*> known;
  for (const BlockLife& life : held.lives) {
    const auto [first, end] = columns_of(life, events);
    if (first >= end) continue;
    const Category category = stories.category_of(life);
    std::vector<Bytes>*& part = known[{category, life.stack}];
    if (!part) part = &parts[{category, stories.of(life.stack).asker()}];
    part->resize(events.size() + 1);
    (*part)[first] += life.size;
    (*part)[end] -= life.size;
  }
  for (auto& [key, part] : parts) {
    for (std::size_t i = 1; i < part.size(); ++i) part[i] += part[i - 1];
    part.pop_back();
  }
  return parts;
}

}  // namespace

Layers layers_of(const Recording& recording, const Held& held, Stories& stories,
                 std::size_t columns, std::size_t most) {
  Layers found;
  choose_columns(recording, held, columns, found);
  if (found.events.empty()) return found;
  auto parts = all_parts(held, stories, found.events);
  std::vector<std::pair<Bytes, const LayerKey*>> order;
  for (const auto& [key, part] : parts) order.emplace_back(std::ranges::max(part), &key);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           &std::pair<Bytes, const LayerKey*>::first);
  std::map<Category, Layer> smaller;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const LayerKey& key = *order[i].second;
    std::vector<Bytes>& part = parts[key];
    if (i < most) {
      found.layers.push_back({key.first, key.second, std::move(part)});
      continue;
    }
    Layer& rest = smaller.try_emplace(key.first, Layer{key.first, "", {}}).first->second;
    rest.bytes.resize(found.events.size());
    for (std::size_t c = 0; c < part.size(); ++c) rest.bytes[c] += part[c];
  }
  for (auto& [category, rest] : smaller) found.layers.push_back(std::move(rest));
  std::ranges::stable_sort(found.layers, {}, &Layer::category);
  return found;
}

}  // namespace memtape
