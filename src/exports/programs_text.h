// SPDX-License-Identifier: Apache-2.0
// The programs of data/export as text. They are embedded into memtape when it is built.
#pragma once

#include <string_view>

namespace memtape::data {

extern const std::string_view kPlainLoop, kTrainerLoop;

}  // namespace memtape::data
