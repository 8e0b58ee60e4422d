// SPDX-License-Identifier: Apache-2.0
// Sizes of images and patches: one number for both sides, or [height, width].
#pragma once

#include "model/config.h"

namespace memtape::family {

struct ImageSides {
  std::int64_t height, width;
};

ImageSides image_sides(const Config& c, const char* key, std::int64_t otherwise);

}  // namespace memtape::family
