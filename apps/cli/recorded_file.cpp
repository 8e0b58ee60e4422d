// SPDX-License-Identifier: Apache-2.0
#include "recorded_file.h"

#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace memtape::cli {
namespace {

constexpr std::size_t kLongestText = std::size_t{256} << 20;
constexpr unsigned kBuffer = 1U << 18;

/// A file as it is, decompressed when it is gzip. The first bytes can be looked at before they are
/// read.
class GzipStream final : public ByteStream {
 public:
  explicit GzipStream(gzFile file) : file_(file) { gzbuffer(file_, kBuffer); }
  ~GzipStream() override { gzclose(file_); }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::string_view peek(std::size_t most) {
    head_.resize(most);
    head_.resize(pull(head_.data(), most));
    return head_;
  }

  std::size_t read(char* into, std::size_t most) override {
    if (head_.empty()) return pull(into, most);
    const std::size_t count = std::min(most, head_.size());
    std::memcpy(into, head_.data(), count);
    head_.erase(0, count);
    return count;
  }

  std::string_view fault() const override { return fault_; }

 private:
  std::size_t pull(char* into, std::size_t most) {
    const int got =
        gzread(file_, into, static_cast<unsigned>(std::min<std::size_t>(most, 1 << 30)));
    int code = Z_OK;
    gzerror(file_, &code);
    if (got < 0 || code == Z_BUF_ERROR)
      fault_ = code == Z_BUF_ERROR ? "its compressed data ends early" : zError(code);
    return got > 0 ? static_cast<std::size_t>(got) : 0;
  }

  gzFile file_;
  std::string head_, fault_;
};

}  // namespace

Result<RecordedFile> RecordedFile::open(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return bad_input("is a directory", path);
  if (std::filesystem::is_fifo(path, ignored) && !path.starts_with("/dev/fd/") &&
      !path.starts_with("/proc/"))  // "<(...)" of a shell, which somebody writes to
    return bad_input("is a named pipe, not a file", path, "write what comes out of it to a file");
  errno = 0;
  const std::string name = path == "-" ? "standard input" : path;
  gzFile file = path == "-" ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path.c_str(), "rb");
  if (file == nullptr) return bad_input(std::strerror(errno != 0 ? errno : ENOMEM), name);
  auto stream = std::make_unique<GzipStream>(file);
  const std::string head(stream->peek(kEvidenceHead));
  if (head.empty() && !stream->fault().empty())
    return bad_input(std::string(stream->fault()), name, "a file that can be read");
  const Result<Kind> kind = evidence_kind(head, name);
  if (!kind) return tl::unexpected(kind.error());
  return RecordedFile(std::move(stream), name, *kind);
}

Result<std::vector<Recording>> RecordedFile::recordings() {
  return recordings_in(*stream_, kind_, name_);
}

Result<std::string> RecordedFile::text() {
  auto text = rest_of(*stream_, kLongestText, name_);
  if (text && !stream_->fault().empty())
    return bad_input(std::string(stream_->fault()), name_, "a gzip file that is complete");
  return text;
}

}  // namespace memtape::cli
