// SPDX-License-Identifier: Apache-2.0
// generate() is answered from text alone. How much more a tower may hold while it reads one image:
// no prediction, but a sum of what its layers may keep, which widens the bounds.
#pragma once

#include "base/bytes.h"
#include "model/config.h"

namespace memtape::transformers {

/// 0 for a model without a vision_config.
Bytes most_for_one_image(const Config& config, Bytes bytes_of_number);

}  // namespace memtape::transformers
