// SPDX-License-Identifier: Apache-2.0
// Reads a file as text. Recordings are often compressed with gzip, and then they are decompressed.
#pragma once

#include <string>

#include "base/result.h"

namespace memtape::cli {

/// The whole content, or what is wrong with the file. It refuses content that is longer than
/// `limit` bytes.
Result<std::string> read_gzip_file(const std::string& path, std::size_t limit);

}  // namespace memtape::cli
