// SPDX-License-Identifier: Apache-2.0
// GGUF headers (ggml's gguf.md, gguf.cpp): versions 2 and 3, little-endian. Only the header is
// read, in pieces; token lists are passed over and only counted. Every length is checked against
// the file before it is believed, so a damaged or hostile file ends in an error.
#pragma once

#include "formats/byte_source.h"
#include "framework/llamacpp/gguf_header.h"

namespace memtape {

Result<llamacpp::GgufHeader> read_gguf(const ByteSource& source);

/// Takes the tensors of a further split into the header of the first.
Result<void> join_gguf_split(llamacpp::GgufHeader& first, const llamacpp::GgufHeader& next,
                             std::int64_t number);

}  // namespace memtape
