// SPDX-License-Identifier: Apache-2.0
// What changed in transformers' caches of keys and values.
#pragma once

#include "release/release.h"

namespace memtape::changes {

inline constexpr Change kCachedValuesKeepTheirType{
    Package::transformers,
    {5, 24, 0},
    "A cache holds values in their own dtype; before, in the keys', which under autocast are "
    "wider. They still were in 5.23.",
    "cache_utils.py:DynamicLayer.lazy_initialization"};

}  // namespace memtape::changes
