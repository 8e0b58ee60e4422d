// SPDX-License-Identifier: Apache-2.0
#include "sources/gguf_file.h"

#include <fmt/format.h>

#include "formats/gguf.h"
#include "sources/files.h"

namespace memtape::sources {
namespace {

constexpr std::int64_t kMostSplits = 1000;

Result<llamacpp::GgufHeader> read_one(const std::string& path) {
  const Result<FileBytes> file = FileBytes::open(path);
  if (!file) return tl::unexpected(file.error());
  return read_gguf(*file);
}

/// The name without "-00001-of-00005.gguf", when it ends so.
Result<std::string> stem_of(const std::string& path, std::int64_t count) {
  const std::string ending = fmt::format("-00001-of-{:05}.gguf", count);
  if (path.ends_with(ending)) return path.substr(0, path.size() - ending.size());
  return bad_input(fmt::format("is one of {} files, and not the first by its name", count), path,
                   fmt::format("give the one that ends in {}", ending));
}

}  // namespace

Result<llamacpp::GgufHeader> read_gguf_file(const std::string& path) {
  Result<llamacpp::GgufHeader> header = read_one(path);
  if (!header) return header;
  const std::int64_t count = header->metadata.integer("split.count").value_or(1);
  if (count <= 1) return header;
  if (count > kMostSplits) return bad_input(fmt::format("claims {} splits", count), path);
  if (header->metadata.integer("split.no").value_or(0) != 0)
    return bad_input("is not the first of its splits", path, "the first one has the metadata");
  const Result<std::string> stem = stem_of(path, count);
  if (!stem) return tl::unexpected(stem.error());
  for (std::int64_t i = 1; i < count; ++i) {
    const auto next = read_one(fmt::format("{}-{:05}-of-{:05}.gguf", *stem, i + 1, count));
    if (!next) return tl::unexpected(next.error());
    if (Result<void> joined = join_gguf_split(*header, *next, i); !joined)
      return tl::unexpected(joined.error());
  }
  return header;
}

}  // namespace memtape::sources
