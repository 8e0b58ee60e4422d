// SPDX-License-Identifier: Apache-2.0
#include "gzip_file.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "base/text.h"

namespace memtape::cli {
namespace {

constexpr std::size_t kChunk = 1 << 18;

struct Close {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

}  // namespace

Result<std::string> read_gzip_file(const std::string& path, std::size_t limit) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return bad_input("is a directory", path);
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));
  if (!file) return bad_input(std::strerror(errno != 0 ? errno : ENOMEM), path);
  std::string text;
  int got = 0;
  do {
    const std::size_t size = text.size();
    text.resize(size + kChunk);
    got = gzread(file.get(), text.data() + size, kChunk);
    text.resize(size + static_cast<std::size_t>(got > 0 ? got : 0));
    if (text.size() > limit)
      return bad_input("holds more than " + human_bytes(static_cast<Bytes>(limit)), path);
  } while (got > 0);
  int code = Z_OK;
  gzerror(file.get(), &code);
  if (got < 0 || code != Z_OK)
    return bad_input(code == Z_BUF_ERROR ? "ends early" : zError(code), path,
                     "a gzip file that is complete");
  return text;
}

}  // namespace memtape::cli
