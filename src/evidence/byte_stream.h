// SPDX-License-Identifier: Apache-2.0
// ByteStream: bytes one after the other, as a file or a pipe delivers them, so that a recording of
// a gigabyte never lies in memory as a whole. Who implements it does the input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace memtape {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  /// Up to `most` bytes into `into`; 0 at the end, also where the source breaks off.
  virtual std::size_t read(char* into, std::size_t most) = 0;
  /// What kept the source from being read to its end, or "".
  virtual std::string_view fault() const { return {}; }
};

/// Bytes in memory, which must outlive it.
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
