// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/json_reader.h"

namespace memtape {
namespace {

constexpr Bytes kLengthBytes = 8;
constexpr std::uint64_t kLongestHeader = 100'000'000;  // safetensors/src/tensor.rs, MAX_HEADER_SIZE
constexpr std::size_t kMostDimensions = 32;
constexpr std::size_t kLongestIndex = std::size_t{256} << 20;
constexpr std::size_t kMostShards = 10'000;
constexpr std::size_t kLongestQuote = 120;

struct StoredType {
  std::string_view name;
  int bits;
};

/// Every dtype of the format (safetensors/src/tensor.rs, Dtype).
constexpr std::array<StoredType, 20> kTypes{{
    {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
    {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
    {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};

/// One tensor as the header describes it.
struct Entry {
  StoredTensor tensor;
  Bytes begin = -1, end = -1;
};

std::string_view shown(std::string_view name) { return name.substr(0, kLongestQuote); }

std::int64_t non_negative(JsonReader& json) {
  const JsonNumber number = json.number();
  if (!json.failed() && (!number.integer || *number.integer < 0))
    json.fail("expected an integer of 0 or more");
  return json.failed() ? 0 : *number.integer;
}

std::vector<std::int64_t> integers(JsonReader& json, std::size_t most) {
  std::vector<std::int64_t> all;
  if (json.enter_array())
    while (json.item()) {
      if (all.size() == most) json.fail(fmt::format("a list of more than {} numbers", most));
      all.push_back(non_negative(json));
    }
  return all;
}

Entry read_entry(JsonReader& json, std::string name) {
  Entry entry{{std::move(name), "", {}, 0}};
  bool shape = false;
  if (json.enter_object())
    while (const auto key = json.key()) {
      if (*key == "dtype") {
        entry.tensor.dtype = json.text();
      } else if (*key == "shape") {
        entry.tensor.shape = integers(json, kMostDimensions);
        shape = true;
      } else if (*key == "data_offsets") {
        const std::vector<std::int64_t> offsets = integers(json, 2);
        if (offsets.size() != 2) json.fail("data_offsets must be two integers");
        if (!json.failed()) entry.begin = offsets[0], entry.end = offsets[1];
      } else {
        json.fail(fmt::format("unknown key '{}' of a tensor", shown(*key)));
      }
    }
  const bool whole = shape && !entry.tensor.dtype.empty() && entry.end >= 0;
  if (!whole)
    json.fail(
        fmt::format("tensor '{}' needs dtype, shape and data_offsets", shown(entry.tensor.name)));
  return entry;
}

/// Elements times bits as bytes; nothing when that overflows or does not fill whole bytes.
std::optional<Bytes> bytes_of(const StoredTensor& tensor, int bits) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  std::int64_t product = bits;
  for (const std::int64_t size : tensor.shape)
    if (size == 0) return 0;
  for (const std::int64_t size : tensor.shape) {
    if (product > kMost / size) return std::nullopt;
    product *= size;
  }
  return product % 8 == 0 ? std::optional(product / 8) : std::nullopt;
}

/// What is wrong with the tensor, if anything.
std::string problem_of(const Entry& entry, Bytes expected_begin) {
  const StoredTensor& tensor = entry.tensor;
  const auto type = std::ranges::find(kTypes, tensor.dtype, &StoredType::name);
  if (type == kTypes.end()) return fmt::format("has the unknown dtype '{}'", shown(tensor.dtype));
  if (entry.begin != expected_begin || entry.end < entry.begin)
    return fmt::format("lies at data_offsets [{}, {}], must begin at {}", entry.begin, entry.end,
                       expected_begin);
  const std::optional<Bytes> bytes = bytes_of(tensor, type->bits);
  if (!bytes)
    return fmt::format("has an impossible size: shape [{}] of {}", fmt::join(tensor.shape, ", "),
                       type->name);
  if (*bytes != entry.end - entry.begin)
    return fmt::format("takes {} bytes by its shape [{}] of {}, but {} by its data_offsets", *bytes,
                       fmt::join(tensor.shape, ", "), type->name, entry.end - entry.begin);
  return "";
}

/// A name that occurs twice, or null.
const std::string* repeated(const std::vector<Entry>& entries) {
  std::vector<const std::string*> names;
  for (const Entry& entry : entries) names.push_back(&entry.tensor.name);
  std::ranges::sort(names, [](const std::string* a, const std::string* b) { return *a < *b; });
  const auto twice = std::ranges::adjacent_find(
      names, [](const std::string* a, const std::string* b) { return *a == *b; });
  return twice == names.end() ? nullptr : *twice;
}

/// The tensors in the order of their data, or why the header cannot be right. `data` is how much
/// follows the header.
Result<TensorList> checked(std::vector<Entry> entries, Bytes data, const std::string& where) {
  if (const std::string* name = repeated(entries))
    return bad_input(fmt::format("tensor '{}' is listed twice", shown(*name)), where);
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
  });
  TensorList list;
  Bytes at = 0;
  for (Entry& entry : entries) {
    if (std::string problem = problem_of(entry, at); !problem.empty())
      return bad_input(fmt::format("tensor '{}' {}", shown(entry.tensor.name), problem), where);
    at = entry.end;
    entry.tensor.bytes = entry.end - entry.begin;
    list.tensors.push_back(std::move(entry.tensor));
  }
  if (at != data)
    return bad_input(fmt::format("the tensors take {} bytes, but {} follow the header", at, data),
                     where, at > data ? "the file is cut short" : "the file is too long");
  return list;
}

std::vector<Entry> read_entries(JsonReader& json) {
  std::vector<Entry> entries;
  if (json.enter_object())
    while (auto name = json.key()) {
      if (*name == "__metadata__")
        json.skip();
      else
        entries.push_back(read_entry(json, *std::move(name)));
    }
  json.finish();
  return entries;
}

Result<std::string> header_text(const ByteSource& source) {
  std::array<char, kLengthBytes> prefix{};
  if (source.size() < kLengthBytes)
    return bad_input("too short for a safetensors file", source.name());
  if (auto read = source.read(0, prefix); !read) return tl::unexpected(read.error());
  std::uint64_t length = 0;
  for (std::size_t i = prefix.size(); i-- > 0;)
    length = length << 8 | static_cast<unsigned char>(prefix[i]);
  if (length > kLongestHeader)
    return bad_input(fmt::format("claims a header of {} bytes", length), source.name(),
                     "not a safetensors file");
  if (static_cast<Bytes>(length) > source.size() - kLengthBytes)
    return bad_input(fmt::format("claims a header of {} bytes but has only {}", length,
                                 source.size() - kLengthBytes),
                     source.name(), "the file is cut short");
  std::string text(length, '\0');
  if (auto read = source.read(kLengthBytes, text); !read) return tl::unexpected(read.error());
  return text;
}

/// A plain file name: an index may not lead out of its folder.
bool is_plain(std::string_view file) {
  return !file.empty() && file.size() <= 255 && file.front() != '.' &&
         file.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

void read_weight_map(JsonReader& json, SafetensorsIndex& index) {
  std::vector<std::pair<std::string, std::size_t>> known;  // sorted by name
  if (!json.enter_object()) return;
  while (auto name = json.key()) {
    std::string file = json.text();
    if (json.failed()) return;
    if (!is_plain(file))
      return json.fail(fmt::format("'{}' is not the name of a file beside the index", shown(file)));
    auto at =
        std::ranges::lower_bound(known, file, {}, &std::pair<std::string, std::size_t>::first);
    if (at == known.end() || at->first != file) {
      if (index.files.size() == kMostShards)
        return json.fail(fmt::format("more than {} files", kMostShards));
      at = known.insert(at, {file, index.files.size()});
      index.files.push_back(std::move(file));
    }
    index.weights.push_back({*std::move(name), at->second});
  }
}

}  // namespace

Result<TensorList> read_safetensors(const ByteSource& source) {
  const Result<std::string> text = header_text(source);
  if (!text) return tl::unexpected(text.error());
  JsonReader json(*text);
  std::vector<Entry> entries = read_entries(json);
  if (json.failed()) return bad_input("not a safetensors header: " + json.problem(), source.name());
  const Bytes data = source.size() - kLengthBytes - static_cast<Bytes>(text->size());
  return checked(std::move(entries), data, source.name());
}

Result<SafetensorsIndex> parse_safetensors_index(std::string_view text, const std::string& where) {
  if (text.size() > kLongestIndex) return bad_input("larger than 256 MiB", where);
  JsonReader json(text);
  SafetensorsIndex index;
  if (json.enter_object())
    while (const auto key = json.key())
      *key == "weight_map" ? read_weight_map(json, index) : json.skip();
  json.finish();
  if (json.failed())
    return bad_input("not an index of safetensors files: " + json.problem(), where);
  if (index.weights.empty())
    return bad_input("weight_map: missing or empty, must map tensors to files", where);
  return index;
}

Result<TensorList> join_shards(const SafetensorsIndex& index, std::vector<TensorList> shards,
                               const std::string& where) {
  using Place = std::pair<std::string_view, std::size_t>;
  std::vector<Place> promised, found;
  for (const auto& weight : index.weights) promised.emplace_back(weight.name, weight.file);
  for (std::size_t file = 0; file < shards.size(); ++file)
    for (const StoredTensor& tensor : shards[file].tensors) found.emplace_back(tensor.name, file);
  std::ranges::sort(promised);
  std::ranges::sort(found);
  const auto [missing, extra] = std::ranges::mismatch(promised, found);
  const auto told = [&](const Place& place, std::string_view what) {
    return bad_input(
        fmt::format("tensor '{}' {} {}", shown(place.first), what, index.files[place.second]),
        where);
  };
  if (missing != promised.end() && (extra == found.end() || *missing < *extra))
    return told(*missing, "is not in");
  if (extra != found.end()) return told(*extra, "is not named by the index, but is in");

  TensorList all;
  for (TensorList& shard : shards)
    std::ranges::move(shard.tensors, std::back_inserter(all.tensors));
  return all;
}

}  // namespace memtape
