// SPDX-License-Identifier: Apache-2.0
// Turns a Hugging Face config.json into the GGUF metadata that convert_hf_to_gguf makes of it, as
// far as that decides sizes.
#pragma once

#include "framework/llamacpp/metadata.h"
#include "framework/llamacpp/weights.h"

namespace memtape::llamacpp {

struct Converted {
  Metadata metadata;
  Choices choices;
};

Result<Converted> convert(const Config& config);

}  // namespace memtape::llamacpp
