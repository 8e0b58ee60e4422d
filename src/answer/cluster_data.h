// SPDX-License-Identifier: Apache-2.0
// data/clusters.yaml as text. It is embedded into memtape when it is built.
#pragma once

#include <string_view>

namespace memtape::data {

extern const std::string_view kClusters;

}  // namespace memtape::data
