// SPDX-License-Identifier: Apache-2.0
// A .gguf file with all its splits: NAME-00001-of-00005.gguf names the others.
#pragma once

#include <string>

#include "framework/llamacpp/gguf_header.h"

namespace memtape::sources {

Result<llamacpp::GgufHeader> read_gguf_file(const std::string& path);

}  // namespace memtape::sources
