// SPDX-License-Identifier: Apache-2.0
// GgufHeader: what a GGUF file, with all its splits, says before its data: metadata and tensors.
#pragma once

#include "framework/llamacpp/metadata.h"
#include "framework/llamacpp/weights.h"

namespace memtape::llamacpp {

struct GgufHeader {
  Metadata metadata;
  StoredWeights tensors;
};

}  // namespace memtape::llamacpp
