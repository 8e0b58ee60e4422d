// SPDX-License-Identifier: Apache-2.0
// A file from a real run, by its bytes: what it is, what it holds, and its part of an explanation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "evidence/byte_stream.h"
#include "evidence/explanation.h"

namespace memtape {

enum class EvidenceKind : unsigned char { pickle, trace, text };

/// How many of a file's first bytes tell what it is.
inline constexpr std::size_t kEvidenceHead = 256;

/// What the file `name`, which begins with `head`, is.
Result<EvidenceKind> evidence_kind(std::string_view head, const std::string& name);

/// The rest of `stream`, which is refused beyond `limit` bytes.
Result<std::string> rest_of(ByteStream& stream, std::size_t limit, const std::string& name);

/// Of a pickle or a trace: one recording for each device.
Result<std::vector<Recording>> recordings_in(ByteStream& stream, EvidenceKind kind,
                                             const std::string& name);

/// Adds what a message or a log says.
Result<void> explain_text(std::string_view text, const std::string& name, Explanation& e);

/// Adds recordings: all of them, or those of `device`.
Result<void> explain_recordings(std::vector<Recording> recordings,
                                std::optional<std::int64_t> device, const std::string& name,
                                Explanation& e);

/// Explanation::kind, where the first file is a `first`.
std::string explanation_kind(const Explanation& e, EvidenceKind first);

/// Files of a run, explained together. `open(path)` gives a file that has a kind(), a name(), and its
/// text() or its recordings(), or says why it cannot be read.
template <class Open>
Result<Explanation> explain_each(const std::vector<std::string>& paths,
                                 std::optional<std::int64_t> device, const Open& open) {
  Explanation e;
  std::optional<EvidenceKind> first;
  const auto read = [&](auto& file) -> Result<void> {
    if (file.kind() == EvidenceKind::text) {
      const Result<std::string> text = file.text();
      return text ? explain_text(*text, file.name(), e) : tl::unexpected(text.error());
    }
    Result<std::vector<Recording>> recordings = file.recordings();
    if (!recordings) return tl::unexpected(recordings.error());
    return explain_recordings(std::move(*recordings), device, file.name(), e);
  };
  for (const std::string& path : paths) {
    auto file = open(path);
    if (!file) return tl::unexpected(file.error());
    if (!first) first = file->kind();
    e.files.push_back(file->name());
    if (const Result<void> done = read(*file); !done) return tl::unexpected(done.error());
  }
  e.kind = explanation_kind(e, *first);
  return e;
}

}  // namespace memtape
