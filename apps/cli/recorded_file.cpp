// SPDX-License-Identifier: Apache-2.0
#include "recorded_file.h"

#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "evidence/snapshot_reader.h"
#include "formats/trace.h"

namespace memtape::cli {
namespace {

constexpr std::size_t kLongestText = std::size_t{256} << 20;
constexpr std::size_t kLongestTrace = std::size_t{2} << 30;
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

Result<RecordedFile::Kind> kind_by_head(std::string_view head, const std::string& name) {
  if (head.empty()) return bad_input("is empty", name, "a snapshot, a trace, a log or a message");
  if (head.starts_with("PK\x03\x04"))
    return bad_input("is an archive, as torch.save writes it", name,
                     "torch.cuda.memory._dump_snapshot(FILE) writes what can be read");
  if (static_cast<unsigned char>(head[0]) == 0x80 && head.size() > 1 && head[1] >= 2 &&
      head[1] <= 5)
    return RecordedFile::Kind::pickle;
  if (head.starts_with("(dp") || head.starts_with("(lp"))
    return bad_input("is a pickle of protocol 0 or 1", name, "protocols 2 to 5 can be read");
  const std::size_t first = head.find_first_not_of(" \t\r\n");
  const bool is_trace = first != head.npos && head[first] == '{' &&
                        head.substr(0, head.find('\n')).find("\"format\"") != head.npos;
  return is_trace ? RecordedFile::Kind::trace : RecordedFile::Kind::text;
}

Result<std::string> rest_of(ByteStream& stream, std::size_t limit, const std::string& name) {
  std::string text;
  for (std::size_t got = 1; got > 0;) {
    const std::size_t size = text.size();
    text.resize(size + kBuffer);
    got = stream.read(text.data() + size, kBuffer);
    text.resize(size + got);
    if (text.size() > limit)
      return bad_input("holds more than " + human_bytes(static_cast<Bytes>(limit)), name);
  }
  return text;
}

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
  const std::string head(stream->peek(256));
  if (head.empty() && !stream->fault().empty())
    return bad_input(std::string(stream->fault()), name, "a file that can be read");
  const Result<Kind> kind = kind_by_head(head, name);
  if (!kind) return tl::unexpected(kind.error());
  return RecordedFile(std::move(stream), name, *kind);
}

Result<std::vector<Recording>> RecordedFile::recordings() {
  const auto in_file = [&](Error error) {
    error.where = error.where.empty() ? name_ : name_ + ", " + error.where;
    return error;
  };
  const std::string stem = std::filesystem::path(name_).filename().string();
  if (kind_ == Kind::pickle) {
    auto snapshot = read_snapshot(*stream_);
    if (!snapshot) return tl::unexpected(in_file(snapshot.error()));
    if (!stream_->fault().empty())
      snapshot->warnings.push_back("the file ends early: " + std::string(stream_->fault()));
    auto recordings = recordings_of(std::move(*snapshot), stem);
    if (recordings.empty())
      return bad_input("holds neither events nor segments", name_,
                       "torch.cuda.memory._record_memory_history() before the run");
    return recordings;
  }
  const auto text = rest_of(*stream_, kLongestTrace, name_);
  if (!text) return tl::unexpected(text.error());
  if (!stream_->fault().empty())
    return bad_input("ends early", name_, "a gzip file that is complete");
  auto trace = parse_trace(*text);
  if (!trace) return tl::unexpected(in_file(trace.error()));
  std::vector<Recording> made;
  made.push_back(recording_of(std::move(*trace)));
  return made;
}

Result<std::string> RecordedFile::text() {
  auto text = rest_of(*stream_, kLongestText, name_);
  if (text && !stream_->fault().empty())
    return bad_input(std::string(stream_->fault()), name_, "a gzip file that is complete");
  return text;
}

}  // namespace memtape::cli
