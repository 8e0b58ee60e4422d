// SPDX-License-Identifier: Apache-2.0
#include "allocator/allocator_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string>
#include <vector>

#include "base/text.h"

namespace memtape {
namespace {

constexpr std::string_view kWhere = "PYTORCH_CUDA_ALLOC_CONF";
constexpr std::array<std::string_view, 16> kKeys{
    "large_segment_size_mb",          "max_split_size_mb",
    "max_non_split_rounding_mb",      "garbage_collection_threshold",
    "roundup_power2_divisions",       "expandable_segments",
    "per_process_memory_fraction",    "backend",
    "pinned_use_background_threads",  "release_lock_on_cudamalloc",
    "pinned_use_cuda_host_register",  "graph_capture_record_stream_reuse",
    "pinned_reserve_segment_size_mb", "pinned_num_register_threads",
    "release_lock_on_hipmalloc",      "pinned_use_hip_host_register"};
constexpr std::size_t kFirstHostKey = 8;  ///< from here on the keys change nothing on the device
constexpr std::int64_t kMostMegabytes = std::int64_t{1} << 27;  // 128 TiB

std::string quoted(std::string_view text) { return fmt::format("'{}'", text); }

auto bad_value(std::string_view key, std::string_view value, std::string_view right) {
  return bad_input("bad value " + quoted(value) + " for " + std::string(key), std::string(kWhere),
                   std::string(right));
}

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// One "key:value" of the text; a value in brackets keeps its commas.
struct Item {
  std::string_view key, value;
};

std::vector<Item> split_items(std::string_view text) {
  std::vector<Item> items;
  while (!text.empty()) {
    const std::size_t bracket = text.find('[');
    std::size_t comma = text.find(',');
    if (bracket < comma) comma = text.find(',', std::min(text.find(']', bracket), text.size()));
    const std::string_view item = text.substr(0, comma);
    const std::size_t colon = item.find(':');
    items.push_back({item.substr(0, colon), colon == item.npos ? "" : item.substr(colon + 1)});
    text.remove_prefix(comma == text.npos ? text.size() : comma + 1);
  }
  return items;
}

Result<Bytes> megabytes(const Item& item, Bytes least) {
  const auto value = whole_number<std::int64_t>(item.value);
  if (!value || *value < least || *value > kMostMegabytes)
    return bad_value(item.key, item.value, "a number of MiB from " + std::to_string(least) + " up");
  return *value << 20;
}

Result<double> fraction(const Item& item, bool with_bounds) {
  const auto value = whole_number<double>(item.value);
  if (!value || !(with_bounds ? *value >= 0 && *value <= 1 : *value > 0 && *value < 1))
    return bad_value(item.key, item.value,
                     with_bounds ? "a number from 0 to 1" : "a number between 0 and 1");
  return *value;
}

Result<bool> truth(const Item& item) {
  if (item.value != "True" && item.value != "False")
    return bad_value(item.key, item.value, "True or False");
  return item.value == "True";
}

std::optional<std::uint32_t> typed_power_of_two(std::string_view text) {
  const auto value = whole_number<std::uint32_t>(text);
  return value && std::has_single_bit(*value) ? value : std::nullopt;
}

/// "[256:1,512:2,>:4]": from a power of two of MiB on, the first entry also below it, ">" above the
/// last one named.
Result<void> parse_division_list(const Item& item, AllocatorConfig& config) {
  constexpr std::string_view kRight =
      "like [256:1,512:2,>:4]: sizes and divisions are powers of two";
  const std::size_t last = AllocatorConfig::kRoundupIntervals - 1;
  std::size_t index = 0;
  bool first = true;
  for (const Item& entry : split_items(item.value.substr(1, item.value.size() - 2))) {
    const auto divisions = entry.value == "0" ? std::uint32_t{0} : typed_power_of_two(entry.value);
    if (!divisions) return bad_value(item.key, item.value, kRight);
    if (entry.key == ">") {
      if (index < last) config.set_roundup_power2_divisions(index + 1, last, *divisions);
      continue;
    }
    const auto size = typed_power_of_two(entry.key);
    if (!size) return bad_value(item.key, item.value, kRight);
    index = std::min<std::size_t>(std::bit_width(*size) - 1, last);
    config.set_roundup_power2_divisions(first ? 0 : index, index, *divisions);
    first = false;
  }
  return {};
}

Result<void> parse_divisions(const Item& item, AllocatorConfig& config) {
  if (item.value.size() >= 2 && item.value.front() == '[' && item.value.back() == ']')
    return parse_division_list(item, config);
  const auto divisions = typed_power_of_two(item.value);
  if (!divisions)
    return bad_value(item.key, item.value, "a power of two, or a list like [256:1,512:2,>:4]");
  config.set_roundup_power2_divisions(0, AllocatorConfig::kRoundupIntervals - 1, *divisions);
  return {};
}

template <class T, class Target>
Result<void> store(const Result<T>& value, Target& target) {
  if (!value) return tl::unexpected(value.error());
  target = *value;
  return {};
}

Result<void> apply(const Item& item, AllocatorConfig& config) {
  const Bytes least = config.large_segment_size >> 20;
  if (item.key == "large_segment_size_mb")
    return store(megabytes(item, (kMinLargeAlloc >> 20) + 1), config.large_segment_size);
  if (item.key == "max_split_size_mb") return store(megabytes(item, least), config.max_split_size);
  if (item.key == "max_non_split_rounding_mb")
    return store(megabytes(item, least), config.max_non_split_rounding_size);
  if (item.key == "garbage_collection_threshold")
    return store(fraction(item, false), config.garbage_collection_threshold);
  if (item.key == "per_process_memory_fraction")
    return store(fraction(item, true), config.per_process_memory_fraction);
  if (item.key == "roundup_power2_divisions") return parse_divisions(item, config);
  if (item.key == "expandable_segments") return store(truth(item), config.expandable_segments);
  if (item.key == "backend" && item.value != "native")
    return unsupported("backend " + quoted(item.value) + " is not modelled", std::string(kWhere),
                       "native is");
  return {};
}

}  // namespace

void AllocatorConfig::set_roundup_power2_divisions(std::size_t first, std::size_t last,
                                                   std::uint32_t divisions) {
  std::fill(roundup_power2_divisions.begin() + static_cast<std::ptrdiff_t>(first),
            roundup_power2_divisions.begin() + static_cast<std::ptrdiff_t>(last) + 1, divisions);
  rounds_to_divisions =
      std::any_of(roundup_power2_divisions.begin(), roundup_power2_divisions.end(),
                  [](std::uint32_t d) { return d > 1; });
}

/// Up to the next of `divisions` equal steps between two powers of two
/// (roundup_power2_next_division).
Bytes AllocatorConfig::round_to_division(Bytes bytes) const {
  const auto log2 = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes))) - 1;
  const Bytes divisions = roundup_power2_divisions[static_cast<std::size_t>(
      std::clamp(log2 - 20, 0, int{kRoundupIntervals} - 1))];
  if (divisions <= 1 || bytes <= kMinBlockSize * divisions) return round_up(bytes, kMinBlockSize);
  return round_up(bytes, (Bytes{1} << log2) / divisions);
}

Result<AllocatorConfig> AllocatorConfig::parse(std::string_view text) {
  std::string compact;
  std::copy_if(text.begin(), text.end(), std::back_inserter(compact),
               [](char c) { return c != ' ' && c != '\t' && c != '\n' && c != '\r'; });
  AllocatorConfig config;
  for (const Item& item : split_items(compact)) {
    if (std::find(kKeys.begin(), kKeys.end(), item.key) == kKeys.end())
      return bad_input("unknown key " + quoted(item.key), std::string(kWhere),
                       suggestion(item.key, std::span(kKeys).first(kFirstHostKey)));
    if (item.value.empty()) return bad_value(item.key, "", "KEY:VALUE");
    if (auto done = apply(item, config); !done) return tl::unexpected(done.error());
  }
  return config;
}

}  // namespace memtape
