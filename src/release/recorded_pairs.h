// SPDX-License-Identifier: Apache-2.0
// The pairs of torch and transformers whose steps were recorded and compared with the answers
// (docs/releases.md), the oldest first. The two releases of a pair were current at the same time.
#pragma once

#include <array>

#include "release/version.h"

namespace memtape {

struct RecordedPair {
  Version torch, transformers;
};

inline constexpr auto kRecordedPairs = std::to_array<RecordedPair>({{{2, 4, 1}, {4, 45, 2}},
                                                                    {{2, 5, 1}, {4, 47, 1}},
                                                                    {{2, 6, 0}, {4, 51, 3}},
                                                                    {{2, 7, 1}, {4, 53, 3}},
                                                                    {{2, 8, 0}, {4, 57, 6}},
                                                                    {{2, 9, 1}, {5, 0, 0}},
                                                                    {{2, 10, 0}, {5, 3, 0}},
                                                                    {{2, 12, 1}, {5, 8, 1}},
                                                                    {{2, 13, 0}, {5, 10, 4}},
                                                                    {{2, 11, 0}, {5, 17, 0}},
                                                                    {{2, 14, 1}, {5, 20, 2}},
                                                                    {{2, 15, 0}, {5, 23, 0}},
                                                                    {{2, 15, 0}, {5, 24, 0}}});

}  // namespace memtape
