// SPDX-License-Identifier: Apache-2.0
#include "answer/explain_files.h"

#include <array>

#include "answer/command_words.h"
#include "evidence/evidence_file.h"

namespace memtape::answer {
namespace {

constexpr std::size_t kLargestFile = std::size_t{512} << 20;

constexpr auto kOwn = std::to_array<option::Option>({
    {"--device",
     "N",
     "only this one, of a snapshot of several",
     {},
     option::Whole{.least = 0, .most = 1 << 20}},
});

Result<void> explain_bytes(const std::string& bytes, EvidenceKind kind, const std::string& name,
                           std::optional<std::int64_t> device, Explanation& e) {
  if (kind == EvidenceKind::text) return explain_text(bytes, name, e);
  MemoryStream stream(bytes);
  Result<std::vector<Recording>> recordings = recordings_in(stream, kind, name);
  if (!recordings) return tl::unexpected(recordings.error());
  return explain_recordings(std::move(*recordings), device, name, e);
}

}  // namespace

option::Syntax explain_syntax() {
  option::Table table = option::table_of(kOwn);
  const option::Table output = output_options();
  table.insert(table.end(), output.begin(), output.end());
  return {.command = "explain",
          .operands = {{"FILE", "snapshots, traces, logs or messages", true, true}},
          .table = std::move(table)};
}

Result<Explanation> explain_files(const option::Words& words, const Outside& outside) {
  Explanation e;
  std::optional<EvidenceKind> first;
  for (const std::string& name : words.operands) {
    const Result<std::string> bytes = outside.text(name, kLargestFile);
    if (!bytes) return tl::unexpected(bytes.error());
    const Result<EvidenceKind> kind =
        evidence_kind(std::string_view(*bytes).substr(0, kEvidenceHead), name);
    if (!kind) return tl::unexpected(kind.error());
    if (!first) first = *kind;
    e.files.push_back(name);
    const auto read = explain_bytes(*bytes, *kind, name, words.whole("device"), e);
    if (!read) return tl::unexpected(read.error());
  }
  e.kind = explanation_kind(e, *first);
  return e;
}

}  // namespace memtape::answer
