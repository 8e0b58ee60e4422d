// SPDX-License-Identifier: Apache-2.0
#include "report/peak_parts.h"

#include <cstddef>

#include <fmt/format.h>

#include "base/text.h"
#include "report/headline.h"

namespace memtape::report {
namespace {

PeakParts parts_by_category(const CategoryBytes& at_peak) {
  PeakParts parts;
  for (std::size_t c = 0; c < kCategories; ++c)
    parts[std::string(kCategoryNames[c])][""] = at_peak.bytes[c];
  return parts;
}

PeakParts without_empty_parts(PeakParts parts) {
  for (auto& [category, makers] : parts)
    std::erase_if(makers, [](const auto& made) { return made.second == 0; });
  std::erase_if(parts, [](const auto& part) { return part.second.empty(); });
  return parts;
}

}  // namespace

PeakParts peak_parts(const RankReport& rank) {
  PeakParts parts = parts_by_category(rank.at_peak);
  const Bytes allocated = sum_of(parts);
  for (const LargestTensor& tensor : rank.largest) {
    BytesByMaker& makers = parts[std::string(name(tensor.category))];
    makers[std::string(trimmed(fmt::format("{} {}", tensor.module, tensor.op)))] += tensor.bytes;
    makers[""] -= tensor.bytes;
  }
  parts["free space in segments"][""] = rank.peak.reserved - allocated;
  parts["outside the allocator"][""] = rank.peak_device_bytes - rank.peak.reserved;
  return without_empty_parts(std::move(parts));
}

PeakParts peak_parts(const Prediction& prediction) {
  const RankReport& rank = peak_rank(prediction);
  PeakParts parts = peak_parts(rank);
  const Bytes between = needed(prediction) - rank.peak_device_bytes;
  parts[between < 0 ? "cached segments given back" : "more before the step"][""] = between;
  return without_empty_parts(std::move(parts));
}

PeakParts peak_parts(const ServeRank& rank) {
  return without_empty_parts(parts_by_category(rank.at_peak));
}

Bytes sum_of(const BytesByMaker& makers) {
  Bytes sum = 0;
  for (const auto& [maker, bytes] : makers) sum += bytes;
  return sum;
}

Bytes sum_of(const PeakParts& parts) {
  Bytes sum = 0;
  for (const auto& [category, makers] : parts) sum += sum_of(makers);
  return sum;
}

PeakParts changes(const PeakParts& before, const PeakParts& now) {
  PeakParts changed = now;
  for (const auto& [category, makers] : before)
    for (const auto& [maker, bytes] : makers) changed[category][maker] -= bytes;
  return without_empty_parts(std::move(changed));
}

}  // namespace memtape::report
