// SPDX-License-Identifier: Apache-2.0
// The time line picture: allocated bytes over the measured step, stacked by category, drawn with
// block characters.
//
//                   ▼ 62.90 GiB
//     62.9 ┤     ▂▄▆█▇▅
//          │ ▁▃▅████████▆▄▂
//        0 └─────────┴──────────┴──────
//            forward   backward   optimizer
//
// Time runs in events, not in seconds: each phase gets columns by its share of events, but enough
// for its name where the width allows. A column shows its highest moment, so that a peak is never
// lost between columns.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "outcome/prediction.h"
#include "report/style.h"

namespace memtape::report {

struct PictureOptions {
  int width = 80;
  int height = 8;
  Style style = {};
  /// What the device leaves to the allocator; it is drawn if the step comes near it.
  std::optional<Bytes> limit = {};
};

/// Lines without line breaks. There are none if the step has no events.
std::vector<std::string> picture(const Trace& trace, const PictureOptions& options);

}  // namespace memtape::report
