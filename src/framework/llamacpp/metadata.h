// SPDX-License-Identifier: Apache-2.0
// Metadata: the key-value pairs of a GGUF file, from the file itself or from what gguf-dump --json
// prints. KeyReader reads an architecture's hyperparameters from it: keys below "<arch>.", each
// with its range; the first key that is missing or out of range is kept and told by `check`.
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
  std::optional<std::int64_t> integer;  ///< also of a boolean
  std::optional<double> number;
  std::optional<std::string> text;
  std::vector<std::int64_t> integers;  ///< of an array of numbers or booleans
  std::optional<std::int64_t> length;  ///< of an array
};

struct Metadata {
  std::string where;  ///< the file, for messages
  std::map<std::string, MetaValue, std::less<>> values;

  const MetaValue* find(std::string_view key) const;
  std::optional<std::int64_t> integer(std::string_view key) const;
  std::string text(std::string_view key) const;

  /// Of an object with `metadata`: keys with plain values, or with objects that hold `value`.
  static Result<Metadata> parse(const Config& config);
};

class KeyReader {
 public:
  KeyReader(const Metadata& metadata, std::string arch)
      : metadata_(metadata), prefix_(std::move(arch) + ".") {}

  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// From 1 to 2^31 - 1.
  std::int64_t dimension(std::string_view key);
  std::int64_t dimension(std::string_view key, std::int64_t otherwise);
  /// From 0 to 2^31 - 1.
  std::int64_t count(std::string_view key, std::int64_t otherwise);
  double number(std::string_view key, double otherwise);
  bool flag(std::string_view key, bool otherwise) { return count(key, otherwise ? 1 : 0) != 0; }
  std::string text(std::string_view key, std::string_view otherwise) const;
  /// One value for all layers, or one a layer.
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
