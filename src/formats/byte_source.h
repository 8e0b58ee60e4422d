// SPDX-License-Identifier: Apache-2.0
// ByteSource: bytes that can be read at any place, such as a file, a part of a web resource, or
// memory in a test. The readers of this room ask for what they need and no more. Whoever implements
// it does the input and output.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace memtape {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// The name in messages: "model.safetensors".
  virtual std::string name() const = 0;
  virtual Bytes size() const = 0;
  /// Fills `into` with the bytes from `offset` on. It is an error if there are fewer.
  virtual Result<void> read(Bytes offset, std::span<char> into) const = 0;
};

/// Bytes in memory. They must outlive the source.
class MemoryBytes : public ByteSource {
 public:
  MemoryBytes(std::string_view bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

  std::string name() const override { return name_; }
  Bytes size() const override { return static_cast<Bytes>(bytes_.size()); }
  Result<void> read(Bytes offset, std::span<char> into) const override {
    if (offset < 0 || offset > size() ||
        into.size() > bytes_.size() - static_cast<std::size_t>(offset))
      return bad_input("ends early", name_);
    if (!into.empty()) std::memcpy(into.data(), bytes_.data() + offset, into.size());
    return {};
  }

 private:
  std::string_view bytes_;
  std::string name_;
};

}  // namespace memtape
