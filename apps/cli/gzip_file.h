// SPDX-License-Identifier: Apache-2.0
// A file's content as text, decompressed when it is gzip; recordings are kept that way.
#pragma once

#include <string>

#include "base/result.h"

namespace memtape::cli {

/// The whole content, or what is wrong with the file. Content above `limit` bytes is refused.
Result<std::string> read_gzip_file(const std::string& path, std::size_t limit);

}  // namespace memtape::cli
