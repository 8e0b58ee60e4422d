// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

namespace memtape {
namespace {

using llamacpp::GgufHeader;
using llamacpp::MetaValue;

constexpr std::int64_t kMostPairs = 1 << 14;
constexpr std::int64_t kMostTensors = 1 << 16;  ///< the largest models have a few thousand
constexpr std::int64_t kLongestName = 64;       ///< GGML_MAX_NAME
constexpr std::int64_t kLongestKept = 1 << 16;  ///< a string that is kept; templates are longer
constexpr std::int64_t kMostKept = 1 << 12;     ///< items of an array that are kept
constexpr std::int64_t kWindow = 1 << 18;
constexpr Bytes kDefaultAlignment = 32;

/// Value types by their numbers; 8 is a string, 9 an array.
constexpr std::array<std::int8_t, 13> kValueBytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::int32_t kFloat32 = 6, kBool = 7, kString = 8, kArray = 9, kFloat64 = 12;

/// Reads forward through a source by windows; the first failure is kept and ends all reading.
class Cursor {
 public:
  explicit Cursor(const ByteSource& source) : source_(source), size_(source.size()) {}

  bool failed() const { return problem_.has_value(); }
  const Error& problem() const { return *problem_; }
  Bytes at() const { return at_; }
  Bytes left() const { return size_ - at_; }

  void fail(std::string what) {
    if (!problem_) problem_ = Error{ErrorKind::bad_input, std::move(what), source_.name(), {}};
  }

  template <class T>
  T number() {
    T value{};
    take(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }

  /// The string's length, when it lies within the file.
  std::int64_t length() {
    const auto length = number<std::uint64_t>();
    if (failed()) return 0;
    if (length > static_cast<std::uint64_t>(left())) fail("ends within a string");
    return failed() ? 0 : static_cast<std::int64_t>(length);
  }

  std::string text(std::int64_t most, std::string_view what) {
    const std::int64_t size = length();
    if (size > most) fail(fmt::format("{} of {} bytes", what, size));
    std::string text(failed() ? 0 : static_cast<std::size_t>(size), '\0');
    take(text.data(), text.size());
    return text;
  }

  void skip(Bytes bytes) {
    if (bytes < 0 || bytes > left()) return fail("ends within a value");
    at_ += bytes;
  }

 private:
  void take(char* into, std::size_t count) {
    if (failed() || count == 0) return;
    if (static_cast<Bytes>(count) > left()) return fail("ends within its header");
    const Bytes end = from_ + static_cast<Bytes>(window_.size());
    if (at_ < from_ || at_ + static_cast<Bytes>(count) > end) refill(count);
    if (failed()) return;
    std::memcpy(into, window_.data() + (at_ - from_), count);
    at_ += static_cast<Bytes>(count);
  }

  void refill(std::size_t least) {
    const Bytes wanted = std::max<Bytes>(kWindow, static_cast<Bytes>(least));
    window_.resize(static_cast<std::size_t>(std::min(wanted, left())));
    from_ = at_;
    if (const Result<void> read = source_.read(from_, window_); !read) {
      problem_ = read.error();
      window_.clear();
    }
  }

  const ByteSource& source_;
  Bytes size_, at_ = 0, from_ = 0;
  std::vector<char> window_;
  std::optional<Error> problem_;
};

class Reader {
 public:
  explicit Reader(const ByteSource& source) : in_(source) {
    header_.metadata.where = source.name();
  }

  Result<GgufHeader> read() {
    read_start();
    for (std::int64_t i = 0; i < pairs_ && !in_.failed(); ++i) read_pair();
    set_alignment();
    for (std::int64_t i = 0; i < tensors_ && !in_.failed(); ++i) read_tensor();
    check_data();
    if (in_.failed()) return tl::unexpected(in_.problem());
    return std::move(header_);
  }

 private:
  /// Counts are unsigned in the file: a negative one is no count.
  static std::string damaged(std::int64_t count, std::string_view of, std::int64_t most) {
    if (count < 0) return fmt::format("has a damaged header: its number of {} is none", of);
    return fmt::format("claims {} {}, more than {}: a damaged header", count, of, most);
  }

  void read_start() {
    const auto magic = in_.number<std::uint32_t>();
    constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
    if (!in_.failed() && magic != kMagic) return in_.fail("is no GGUF file");
    const auto version = in_.number<std::uint32_t>();
    if (!in_.failed() && (version < 2 || version > 3))
      return in_.fail((version & 0xFFFFU) == 0 ? std::string("is big-endian, which is not read")
                                               : fmt::format("is GGUF version {}", version));
    tensors_ = in_.number<std::int64_t>();
    pairs_ = in_.number<std::int64_t>();
    if (in_.failed()) return;
    if (tensors_ < 0 || tensors_ > kMostTensors)
      return in_.fail(damaged(tensors_, "tensors", kMostTensors));
    if (pairs_ < 0 || pairs_ > kMostPairs) in_.fail(damaged(pairs_, "keys", kMostPairs));
  }

  void read_pair() {
    const std::string key = in_.text(kLongestKept, "a key");
    const auto type = in_.number<std::int32_t>();
    MetaValue value = type == kArray ? read_array() : read_scalar(type);
    if (in_.failed()) return;
    if (!header_.metadata.values.emplace(key, std::move(value)).second)
      in_.fail(fmt::format("has the key {} twice", key));
  }

  bool is_known(std::int32_t type) {
    const bool known = type >= 0 && type < static_cast<std::int32_t>(kValueBytes.size());
    if (!known) in_.fail(fmt::format("has a value of unknown type {}", type));
    return known && !in_.failed();
  }

  MetaValue read_scalar(std::int32_t type) {
    MetaValue value;
    if (!is_known(type)) return value;
    if (type == kString) {
      const std::int64_t size = in_.length();
      if (size > kLongestKept) {
        in_.skip(size);
        value.text = "";
      } else {
        value.text = std::string(static_cast<std::size_t>(size), '\0');
        for (char& c : *value.text) c = in_.number<char>();
      }
    } else if (type == kFloat32) {
      value.number = in_.number<float>();
    } else if (type == kFloat64) {
      value.number = in_.number<double>();
    } else {
      value.integer = read_integer(type);
      value.number = static_cast<double>(*value.integer);
    }
    return value;
  }

  std::int64_t read_integer(std::int32_t type) {
    switch (type) {
      case 0: return in_.number<std::uint8_t>();
      case 1: return in_.number<std::int8_t>();
      case 2: return in_.number<std::uint16_t>();
      case 3: return in_.number<std::int16_t>();
      case 4: return in_.number<std::uint32_t>();
      case 5: return in_.number<std::int32_t>();
      case kBool: return in_.number<std::uint8_t>() != 0 ? 1 : 0;
      default: return in_.number<std::int64_t>();
    }
  }

  MetaValue read_array() {
    MetaValue value;
    const auto type = in_.number<std::int32_t>();
    const auto count = in_.number<std::uint64_t>();
    if (!is_known(type)) return value;
    if (type == kArray) return in_.fail("has an array of arrays"), value;
    const Bytes each = type == kString ? 8 : kValueBytes[static_cast<std::size_t>(type)];
    if (count > static_cast<std::uint64_t>(in_.left() / each))
      return in_.fail("ends within an array"), value;
    value.length = static_cast<std::int64_t>(count);
    for (std::int64_t i = 0; i < *value.length && !in_.failed(); ++i) {
      if (type == kString)
        in_.skip(in_.length());
      else if (i >= kMostKept)
        return in_.skip((*value.length - i) * each), value;
      else
        keep_item(type, value);
    }
    return value;
  }

  void keep_item(std::int32_t type, MetaValue& array) {
    const MetaValue item = read_scalar(type);
    array.integers.push_back(item.integer.value_or(0));
  }

  void set_alignment() {
    alignment_ = header_.metadata.integer("general.alignment").value_or(kDefaultAlignment);
    if (alignment_ < 1 || alignment_ > (1 << 20) || (alignment_ & (alignment_ - 1)) != 0)
      in_.fail(fmt::format("has an alignment of {}", alignment_));
  }

  void read_tensor() {
    const std::string name = in_.text(kLongestName, "a tensor name");
    const auto dims = in_.number<std::uint32_t>();
    if (in_.failed()) return;
    if (dims < 1 || dims > 4) return in_.fail(fmt::format("{} has {} dimensions", name, dims));
    llamacpp::StoredWeight weight;
    std::int64_t rows = 1;
    for (std::uint32_t i = 0; i < dims; ++i) {
      const auto n = in_.number<std::int64_t>();
      if (in_.failed()) return;
      if (n < 1 || n > (std::int64_t{1} << 40))
        return in_.fail(fmt::format("{} has a dimension of {}", name, n));
      weight.ne[i] = n;
      if (i > 0 && rows > (std::int64_t{1} << 40) / n)
        return in_.fail(fmt::format("{} is larger than any file", name));
      if (i > 0) rows *= n;
    }
    const auto number = in_.number<std::int32_t>();
    const auto offset = in_.number<std::uint64_t>();
    if (in_.failed()) return;
    const auto type = ggml::type_from_number(number);
    if (!type) return in_.fail(fmt::format("{} is of unknown type {}", name, number));
    weight.type = *type;
    if (weight.ne[0] % ggml::block_size(*type) != 0)
      return in_.fail(fmt::format("{} has rows of {} in blocks of {}", name, weight.ne[0],
                                  ggml::block_size(*type)));
    add(name, weight, rows, offset);
  }

  void add(const std::string& name, const llamacpp::StoredWeight& weight, std::int64_t rows,
           std::uint64_t offset) {
    const Bytes row = ggml::row_size(weight.type, weight.ne[0]);
    if (offset != static_cast<std::uint64_t>(data_))
      return in_.fail(fmt::format("{} lies at {}, not behind the tensor before it", name, offset));
    if (row > 0 && rows > (std::int64_t{1} << 50) / row)
      return in_.fail(fmt::format("{} is larger than any file", name));
    data_ += round_up(row * rows, alignment_);
    if (data_ > (std::int64_t{1} << 52)) return in_.fail("is larger than any file");
    if (!header_.tensors.emplace(name, weight).second)
      in_.fail(fmt::format("has the tensor {} twice", name));
  }

  /// The data must lie within the file; the last tensor's padding may be missing.
  void check_data() {
    if (in_.failed() || tensors_ == 0) return;
    const Bytes start = round_up(in_.at(), alignment_);
    if (data_ - alignment_ >= in_.at() + in_.left() - start) in_.fail("ends before its tensors do");
  }

  Cursor in_;
  GgufHeader header_;
  std::int64_t tensors_ = 0, pairs_ = 0;
  Bytes alignment_ = kDefaultAlignment, data_ = 0;
};

}  // namespace

Result<GgufHeader> read_gguf(const ByteSource& source) { return Reader(source).read(); }

Result<void> join_gguf_split(GgufHeader& first, const GgufHeader& next, std::int64_t number) {
  const auto said = next.metadata.integer("split.no");
  if (said != number)
    return bad_input(
        fmt::format("says that it is split {}, its name says {}", said.value_or(0) + 1, number + 1),
        next.metadata.where);
  for (const auto& [name, weight] : next.tensors)
    if (!first.tensors.emplace(name, weight).second)
      return bad_input(fmt::format("has the tensor {}, which another split has, too", name),
                       next.metadata.where);
  return {};
}

}  // namespace memtape
