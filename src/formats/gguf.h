// SPDX-License-Identifier: Apache-2.0
// GGUF headers (ggml's gguf.md, gguf.cpp), versions 2 and 3, little-endian. Only the header is
// read, in pieces; lists of tokens are skipped and only counted. Every length is compared with the
// file before it is used, so a damaged or hostile file ends in an error.
#pragma once

#include "formats/byte_source.h"
#include "framework/llamacpp/gguf_header.h"

namespace memtape {

Result<llamacpp::GgufHeader> read_gguf(const ByteSource& source);

/// Adds the tensors of a further split to the header of the first.
Result<void> join_gguf_split(llamacpp::GgufHeader& first, const llamacpp::GgufHeader& next,
                             std::int64_t number);

}  // namespace memtape
