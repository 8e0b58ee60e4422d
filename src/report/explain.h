// SPDX-License-Identifier: Apache-2.0
// Breakdown: a number taken apart until only module, shape and dtype are left, as a tree whose
// branches sum to their trunk at every level:
//
//     peak_device_bytes                                                    4,316,463,104
//     ├─ outside the allocator                                               536,870,912
//     └─ reserved                                                          3,779,592,192
//        ├─ free in segments                                                 ...
//        └─ allocated ...
#pragma once

#include <string>
#include <vector>

#include "outcome/prediction.h"
#include "report/style.h"

namespace memtape::report {

struct Breakdown {
  std::string label;
  std::string arithmetic;  ///< "14336 x 4096 bfloat16 = 117,440,512 B x 32", or ""
  std::string note;        ///< "kept for MulBackward0", or ""
  Bytes bytes = 0;
  std::vector<Breakdown> parts;  ///< empty, or the parts sum to `bytes`
};

/// The numbers of the fullest rank, each with its tree: the four static figures, the device's peak,
/// the reserved peak by segments, and what is held between steps. The labels are the keys of the
/// JSON answer.
std::vector<Breakdown> breakdowns(const Prediction& prediction, const Trace& trace);

struct ExplainOptions {
  int width = 80;
  Style style = {};
};

std::string explain(const Prediction& prediction, const Trace& trace,
                    const ExplainOptions& options);

}  // namespace memtape::report
