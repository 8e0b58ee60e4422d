// SPDX-License-Identifier: Apache-2.0
// A file's content as text, decompressed when it is gzip; recordings of allocators are kept that
// way.
#pragma once

#include <string>

#include "base/result.h"

namespace memtape::cli {

/// The whole content, or what is wrong with the file. Content above 2 GiB is refused.
Result<std::string> read_gzip_file(const std::string& path);

}  // namespace memtape::cli
