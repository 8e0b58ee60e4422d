// SPDX-License-Identifier: Apache-2.0
#include "answer/explain_files.h"

#include <span>
#include <utility>

#include "answer/command_words.h"
#include "evidence/evidence_file.h"

namespace memtape::answer {
namespace {

constexpr std::size_t kLargestFile = std::size_t{512} << 20;

/// A file whose bytes are at hand.
class BytesFile {
 public:
  static Result<BytesFile> open(const std::string& name, const Outside& outside) {
    Result<std::string> bytes = outside.text(name, kLargestFile);
    if (!bytes) return tl::unexpected(bytes.error());
    const Result<EvidenceKind> kind =
        evidence_kind(std::string_view(*bytes).substr(0, kEvidenceHead), name);
    if (!kind) return tl::unexpected(kind.error());
    return BytesFile(name, *kind, std::move(*bytes));
  }
  EvidenceKind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  Result<std::string> text() { return std::move(bytes_); }
  Result<std::vector<Recording>> recordings() const {
    MemoryStream stream(bytes_);
    return recordings_in(stream, kind_, name_);
  }

 private:
  BytesFile(std::string name, EvidenceKind kind, std::string bytes)
      : name_(std::move(name)), kind_(kind), bytes_(std::move(bytes)) {}

  std::string name_;
  EvidenceKind kind_;
  std::string bytes_;
};

}  // namespace

option::Syntax explain_syntax() {
  option::Table table = option::table_of(std::span(&kOneDevice, 1));
  const option::Table output = output_options();
  table.insert(table.end(), output.begin(), output.end());
  return {.command = "explain",
          .operands = {{"FILE", "snapshots, traces, logs or messages", true, true}},
          .table = std::move(table)};
}

Result<Explanation> explain_files(const option::Words& words, const Outside& outside) {
  return explain_each(words.operands, words.whole("device"), [&outside](const std::string& name) {
    return BytesFile::open(name, outside);
  });
}

}  // namespace memtape::answer
