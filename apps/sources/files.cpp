// SPDX-License-Identifier: Apache-2.0
#include "sources/files.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"

namespace memtape::sources {
namespace {

tl::unexpected<Error> system_error(const std::string& path) {
  return bad_input(std::strerror(errno), path);
}

/// A pipe nobody writes to would be waited for without end: opening does not block, and what is
/// there to read is asked for afterwards.
int open_to_read(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/// A named pipe is no file: nobody may ever write to it. Pipes of a shell ("<(...)") have no name.
bool is_named_pipe(const std::string& path, int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && S_ISFIFO(status.st_mode) && status.st_nlink > 0 &&
         !path.starts_with("/dev/fd/") && !path.starts_with("/proc/");
}

struct Closer {
  int descriptor;
  ~Closer() { ::close(descriptor); }
};

}  // namespace

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

Result<std::string> read_text_file(const std::string& path, std::size_t limit) {
  const int descriptor = open_to_read(path);
  if (descriptor < 0) return system_error(path);
  const Closer closer{descriptor};
  if (is_named_pipe(path, descriptor))
    return bad_input("a named pipe, not a file", path, "write what comes out of it to a file");
  ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) & ~O_NONBLOCK);
  std::string text;
  std::array<char, 1 << 16> chunk;
  for (;;) {
    const ssize_t count = ::read(descriptor, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path);
    if (count == 0) return text;
    text.append(chunk.data(), static_cast<std::size_t>(count));
    if (text.size() > limit)
      return bad_input(fmt::format("larger than {}", human_bytes(static_cast<Bytes>(limit))), path);
  }
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return bad_input("cannot be written", path);
  return {};
}

Result<void> check_replaceable(const std::string& path, std::string_view beginning) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream file(path, std::ios::binary);
  std::string there(beginning.size(), '\0');
  file.read(there.data(), static_cast<std::streamsize>(there.size()));
  if (file.gcount() == 0 || there == beginning) return {};
  return bad_input("a file of another kind is there, and is not written over", path,
                   "another name");
}

Result<void> write_output(const std::string& path, std::string_view bytes) {
  constexpr std::size_t kBeginning = 14;  // "<!doctype html"
  if (const auto fine = check_replaceable(path, bytes.substr(0, kBeginning)); !fine) return fine;
  return write_file(path, bytes);
}

Result<FileBytes> FileBytes::open(const std::string& path) {
  const int descriptor = open_to_read(path);
  if (descriptor < 0) return system_error(path);
  FileBytes file(path, descriptor, 0);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) return system_error(path);
  if (!S_ISREG(status.st_mode)) return bad_input("not a regular file", path);
  file.size_ = status.st_size;
  return file;
}

FileBytes::FileBytes(FileBytes&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

FileBytes::~FileBytes() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<void> FileBytes::read(Bytes offset, std::span<char> into) const {
  while (!into.empty()) {
    const ssize_t count = ::pread(descriptor_, into.data(), into.size(), offset);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(path_);
    if (count == 0) return bad_input("ends early", path_);
    into = into.subspan(static_cast<std::size_t>(count));
    offset += count;
  }
  return {};
}

}  // namespace memtape::sources
