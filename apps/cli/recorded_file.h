// SPDX-License-Identifier: Apache-2.0
// A file from a real run, or standard input as "-": its kind, which its first bytes tell, and its
// recordings. Files may be compressed with gzip.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "evidence/evidence_file.h"

namespace memtape::cli {

class RecordedFile {
 public:
  using Kind = EvidenceKind;

  static Result<RecordedFile> open(const std::string& path);

  Kind kind() const { return kind_; }
  const std::string& name() const { return name_; }
  /// For a pickle or a trace: one recording for each device.
  Result<std::vector<Recording>> recordings();
  /// For a text: all of it.
  Result<std::string> text();

 private:
  RecordedFile(std::unique_ptr<ByteStream> stream, std::string name, Kind kind)
      : stream_(std::move(stream)), name_(std::move(name)), kind_(kind) {}

  std::unique_ptr<ByteStream> stream_;
  std::string name_;
  Kind kind_;
};

}  // namespace memtape::cli
