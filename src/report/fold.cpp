// SPDX-License-Identifier: Apache-2.0
#include "report/fold.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace memtape::report {
namespace {

bool is_number(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// What blocks of one fold have in common. Views point into the tape's string literals.
struct Key {
  PatternId pattern;
  Category category;
  DType dtype;
  Bytes requested;
  std::string_view op, node;
  decltype(DisplayShape::dims) dims;
  std::uint8_t rank;
  bool operator==(const Key&) const = default;
};

struct KeyHash {
  std::size_t operator()(const Key& k) const {
    std::size_t h = std::hash<std::string_view>{}(k.op);
    const auto mix = [&h](std::size_t v) { h = (h ^ v) * 0x9E3779B97F4A7C15ULL; };
    mix(k.pattern);
    mix(static_cast<std::size_t>(k.requested));
    mix(static_cast<std::size_t>(k.category) << 8 | static_cast<std::size_t>(k.dtype));
    for (std::int32_t d : k.dims) mix(static_cast<std::size_t>(d));
    return h ^ (h >> 29);
  }
};

Key key_of(const Tape& tape, BlockId block, const PathPatterns& patterns) {
  const Why why = tape.why[block];
  return {patterns.of(why.scope), why.category,  why.dtype, tape.requested[block], why.op, why.node,
          why.shape.dims,         why.shape.rank};
}

std::vector<std::string_view> names_on_the_way(const ScopeTree& scopes, ScopeId id) {
  std::vector<std::string_view> names;
  for (; id != 0; id = scopes.parent(id)) names.push_back(scopes.last_name(id));
  std::reverse(names.begin(), names.end());
  return names;
}

/// {0,1,2,5} as "0..2,5"; a long list with holes ends in "...".
std::string ranges(const std::set<int>& numbers) {
  constexpr std::size_t kMostRanges = 4;
  std::string text;
  std::size_t written = 0;
  for (auto at = numbers.begin(); at != numbers.end(); ++written) {
    if (written == kMostRanges) return text + ",...";
    const int from = *at;
    int to = from;
    while (++at != numbers.end() && *at == to + 1) ++to;
    if (!text.empty()) text += ',';
    text += std::to_string(from);
    if (to > from) text += ".." + std::to_string(to);
  }
  return text;
}

int number_of(std::string_view name) {
  int value = 0;
  std::from_chars(name.data(), name.data() + name.size(), value);
  return value;
}

}  // namespace

PathPatterns::PathPatterns(const ScopeTree& scopes) : patterns_{{"", 0}}, of_scope_(scopes.size()) {
  std::map<std::pair<PatternId, std::string_view>, PatternId> known;
  for (ScopeId id = 1; id < scopes.size(); ++id) {
    const std::string_view last = scopes.last_name(id);
    const std::string_view name = is_number(last) ? std::string_view("*") : last;
    const PatternId parent = of_scope_[scopes.parent(id)];
    const auto [at, fresh] =
        known.try_emplace({parent, name}, static_cast<PatternId>(patterns_.size()));
    if (fresh) patterns_.push_back({std::string(name), parent});
    of_scope_[id] = at->second;
  }
}

std::string PathPatterns::text(PatternId pattern) const {
  std::string text;
  for (; pattern != 0; pattern = patterns_[pattern].parent)
    text = text.empty() ? patterns_[pattern].name : patterns_[pattern].name + "." + text;
  return text;
}

std::vector<Fold> fold(const Tape& tape, const BlockSizes& sizes, std::span<const BlockId> blocks,
                       const PathPatterns& patterns) {
  std::vector<Fold> folds;
  std::unordered_map<Key, std::size_t, KeyHash> known;
  for (BlockId block : blocks) {
    const Key key = key_of(tape, block, patterns);
    const auto [at, fresh] = known.try_emplace(key, folds.size());
    if (fresh) folds.push_back({key.pattern, {}, 0, 0});
    Fold& f = folds[at->second];
    f.blocks.push_back(block);
    f.requested += tape.requested[block];
    f.allocated += block < sizes.size() ? sizes[block] : 0;
  }
  return folds;
}

std::string path_with_ranges(const Tape& tape, const Fold& fold) {
  std::vector<std::set<int>> numbers;
  std::vector<std::string_view> names;
  for (BlockId block : fold.blocks) {
    names = names_on_the_way(tape.scopes, tape.why[block].scope);
    numbers.resize(names.size());
    for (std::size_t i = 0; i < names.size(); ++i)
      if (is_number(names[i])) numbers[i].insert(number_of(names[i]));
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += '.';
    text += is_number(names[i]) ? ranges(numbers[i]) : std::string(names[i]);
  }
  return text;
}

std::string shape_product(const DisplayShape& shape) {
  if (shape.rank == 0) return "scalar";
  std::string text;
  for (std::uint8_t i = 0; i < shape.rank; ++i)
    text += (i == 0 ? "" : " x ") + std::to_string(shape.dims[i]);
  return text;
}

}  // namespace memtape::report
