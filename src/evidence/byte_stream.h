// SPDX-License-Identifier: Apache-2.0
// ByteStream: bytes in sequence, as a file or a pipe delivers them, so that a recording of a
// gigabyte never lies in memory as a whole. Whoever implements it does the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace memtape {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Reads up to `most` bytes into `into`. It returns 0 at the end, and also if the source breaks
  /// off.
  virtual std::size_t read(char* into, std::size_t most) = 0;
  /// Why the source could not be read to its end, or "".
  virtual std::string_view fault() const { return {}; }
};

/// Bytes in memory. They must outlive the stream.
class MemoryStream final : public ByteStream {
 public:
  explicit MemoryStream(std::string_view bytes) : rest_(bytes) {}
  std::size_t read(char* into, std::size_t most) override {
    const std::size_t count = std::min(most, rest_.size());
    if (count > 0) std::memcpy(into, rest_.data(), count);
    rest_.remove_prefix(count);
    return count;
  }

 private:
  std::string_view rest_;
};

}  // namespace memtape
