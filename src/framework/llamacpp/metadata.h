// SPDX-License-Identifier: Apache-2.0
// Metadata: the key-value pairs of a GGUF file, read from the file itself or from what gguf-dump
// --json prints. KeyReader reads the hyperparameters of an architecture from them: the keys that
// begin with "<arch>.", each with its allowed range. It keeps the first key that is missing or out
// of range, and `check` reports it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/config.h"

namespace memtape::llamacpp {

struct MetaValue {
  std::optional<std::int64_t> integer;  ///< set for a boolean, too
  std::optional<double> number;
  std::optional<std::string> text;
  std::vector<std::int64_t> integers;  ///< the items of an array of numbers or booleans
  std::optional<std::int64_t> length;  ///< the length of an array
};

struct Metadata {
  std::string where;  ///< the name of the file, for messages
  std::map<std::string, MetaValue, std::less<>> values;

  const MetaValue* find(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::string text(std::string_view key) const;

  /// Reads the member `metadata` of an object. Its keys have plain values, or objects with a member
  /// `value`.
  static Result<Metadata> parse(const Config& config);
};

class KeyReader {
 public:
  KeyReader(const Metadata& metadata, std::string arch)
      : metadata_(metadata), prefix_(std::move(arch) + ".") {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// A number from 1 to 2^31 - 1.
  std::int64_t dimension(std::string_view key);
  std::int64_t dimension(std::string_view key, std::int64_t otherwise);
  /// A number from 0 to 2^31 - 1.
  std::int64_t count(std::string_view key, std::int64_t otherwise);
  double number(std::string_view key, double otherwise);
  bool flag(std::string_view key, bool otherwise) { return count(key, otherwise ? 1 : 0) != 0; }
  std::string text(std::string_view key, std::string_view otherwise) const;
  /// One value for all layers, or one for each layer.
  std::vector<std::int64_t> per_layer(std::string_view key, std::int64_t layers,
                                      std::int64_t otherwise);
  std::vector<std::int64_t> array(std::string_view key) const;
  void fail(std::string_view key, std::string what);
  Result<void> check() const;

  const Metadata& metadata() const { return metadata_; }

 private:
  const MetaValue* find(std::string_view key) const;
  std::int64_t within(std::string_view key, std::int64_t value, std::int64_t least);

  const Metadata& metadata_;
  std::string prefix_;
  std::optional<Error> problem_;
};

}  // namespace memtape::llamacpp
