// SPDX-License-Identifier: Apache-2.0
#include "formats/gguf.h"

#include <cstring>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using testing::HasSubstr;

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

std::string text(std::string_view s) { return raw<std::uint64_t>(s.size()) + std::string(s); }

std::string start(std::int64_t tensors, std::int64_t pairs, std::uint32_t version = 3) {
  return "GGUF" + raw(version) + raw(tensors) + raw(pairs);
}

std::string number(std::string_view key, std::uint32_t value) {
  return text(key) + raw<std::int32_t>(4) + raw(value);
}

/// Two dimensions.
std::string tensor(std::string_view name, std::int64_t n, std::int64_t rows, std::int32_t type,
                   std::uint64_t offset) {
  return text(name) + raw<std::uint32_t>(2) + raw(n) + raw(rows) + raw(type) + raw(offset);
}

Result<llamacpp::GgufHeader> read_gguf(const std::string& bytes) {
  return read_gguf(MemoryBytes(bytes, "m.gguf"));
}

std::string gguf_complaint(const std::string& bytes) {
  const auto header = read_gguf(bytes);
  return header ? "" : header.error().line();
}

TEST(Gguf, ReadsKeysAndTensors) {
  const std::string names = text("tokens") + raw<std::int32_t>(9) + raw<std::int32_t>(8) +
                            raw<std::uint64_t>(2) + text("a") + text("bc");
  const std::string bytes = start(2, 2) + number("k", 7) + names + tensor("q", 64, 2, 8, 0) +
                            tensor("f", 4, 1, 0, 160) + std::string(256, '\0');
  const auto header = read_gguf(bytes);
  ASSERT_TRUE(header) << header.error().line();
  EXPECT_EQ(header->metadata.integer("k"), 7);
  EXPECT_EQ(header->metadata.find("tokens")->length, 2);
  EXPECT_EQ(header->tensors.at("q").type, ggml::Type::q8_0);
  EXPECT_EQ(header->tensors.at("f").ne, (ggml::Extents{4, 1, 1, 1}));
}

TEST(Gguf, ReadsVersionTwo) { EXPECT_TRUE(read_gguf(start(0, 1, 2) + number("k", 7))); }

TEST(Gguf, RefusesWhatIsNone) {
  EXPECT_THAT(gguf_complaint("GGUZ" + raw<std::uint32_t>(3)), HasSubstr("is no GGUF file"));
  EXPECT_THAT(gguf_complaint(start(0, 0, 4)), HasSubstr("GGUF version 4"));
  EXPECT_THAT(gguf_complaint(start(0, 0, 3U << 24)), HasSubstr("big-endian"));
}

TEST(Gguf, RefusesLengthsBeyondTheFile) {
  EXPECT_THAT(gguf_complaint(start(std::int64_t{1} << 40, 0)), HasSubstr("claims"));
  EXPECT_THAT(gguf_complaint(start(0, 1) + raw<std::uint64_t>(~0ULL)), HasSubstr("ends within"));
  EXPECT_THAT(gguf_complaint(start(0, 1) + text("k") + raw<std::int32_t>(9) + raw<std::int32_t>(5) +
                             raw<std::uint64_t>(1ULL << 61)),
              HasSubstr("ends within an array"));
  EXPECT_THAT(gguf_complaint(start(1, 0) + tensor("q", 1 << 20, 1 << 20, 0, 0)),
              HasSubstr("ends before its tensors do"));
}

TEST(Gguf, RefusesTensorsThatOverlapOrLieApart) {
  const std::string first = tensor("q", 64, 2, 8, 0);
  EXPECT_THAT(gguf_complaint(start(2, 0) + first + tensor("f", 4, 1, 0, 32)),
              HasSubstr("not behind the tensor before it"));
  EXPECT_THAT(gguf_complaint(start(1, 0) + tensor("q", 65, 2, 8, 0)), HasSubstr("in blocks of 32"));
  EXPECT_THAT(gguf_complaint(start(1, 0) + tensor("q", 64, 2, 999, 0)),
              HasSubstr("unknown type 999"));
}

}  // namespace
}  // namespace memtape
