// SPDX-License-Identifier: Apache-2.0
// Files: the file system behind the interfaces of the rooms. Sizes are limited, and an error names
// the file and the reason.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "formats/byte_source.h"

namespace memtape::sources {

/// Whether a file or folder of that name exists. If it cannot be looked at, it counts as missing.
bool is_there(const std::filesystem::path& path);

/// The whole text of a file or pipe of at most `limit` bytes.
Result<std::string> read_text_file(const std::string& path, std::size_t limit);

/// Writes `bytes` into a file.
Result<void> write_file(const std::string& path, std::string_view bytes);
/// How a pickle begins that torch dumps as a snapshot: protocol 4.
inline constexpr std::string_view kPickle = "\x80\x04";
/// An error if a file is there that begins in another way: somebody's model, not an old page.
Result<void> check_replaceable(const std::string& path, std::string_view beginning);
/// Writes a page or a snapshot, but not over a file of another kind.
Result<void> write_output(const std::string& path, std::string_view bytes);

/// A regular file, of which only the parts are read that a reader asks for.
class FileBytes : public ByteSource {
 public:
  static Result<FileBytes> open(const std::string& path);

  FileBytes(FileBytes&& other) noexcept;
  FileBytes& operator=(FileBytes&&) = delete;
  ~FileBytes() override;

  std::string name() const override { return path_; }
  Bytes size() const override { return size_; }
  Result<void> read(Bytes offset, std::span<char> into) const override;

 private:
  FileBytes(std::string path, int descriptor, Bytes size)
      : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

  std::string path_;
  int descriptor_;
  Bytes size_;
};

}  // namespace memtape::sources
