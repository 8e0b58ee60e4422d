// SPDX-License-Identifier: Apache-2.0
// Files of transformers that are transcribed, and otherwise at a release that nobody compared than at
// the compared ones about it. Generated from data/upstream/transformers.unread.tsv
// (scripts/upstream.py unread, scripts/embed_data.py).
#pragma once

#include <span>
#include <string_view>

#include "release/version.h"

namespace memtape {

struct UnreadFile {
  std::string_view file;  ///< "models/gemma4/modeling_gemma4.py"
  Version release;        ///< without its third number
};

/// Sorted by file, then by release.
std::span<const UnreadFile> unread_files();

}  // namespace memtape
