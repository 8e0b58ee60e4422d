// SPDX-License-Identifier: Apache-2.0
// What is assumed of a batch of a model with images, where it is answered as one of text.
#pragma once

#include <string_view>

namespace memtape::family {

inline constexpr std::string_view kImagesLeftOut =
    "batches are taken to be text alone: images add what their tower holds";

}  // namespace memtape::family
