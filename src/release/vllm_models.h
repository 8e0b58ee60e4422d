// SPDX-License-Identifier: Apache-2.0
// Which releases of vLLM have a class of their own for a model (model_executor/models/registry.py).
// Earlier ones refuse it, or run transformers' class in their own way.
#pragma once

#include <optional>
#include <string_view>

#include "release/release.h"

namespace memtape {

/// The first release that has the architecture, if `release` is before it. Releases whose registry
/// nobody has read count as having it.
std::optional<Version> first_vllm_release_after(const Release& release,
                                                std::string_view architecture);

}  // namespace memtape
