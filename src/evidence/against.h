// SPDX-License-Identifier: Apache-2.0
// Against: compares a recording with a prediction. Their peaks are taken apart block by block.
// Blocks of equal size on both sides cancel; what is left is the difference, to the byte, and each
// part of it comes with its line of the program or its module of the prediction. The allocations of
// the predicted step are also looked up in the recording, in order.
#pragma once

#include <string>
#include <vector>

#include "evidence/explanation.h"

namespace memtape {

struct PredictedBlock {
  Bytes requested = 0, size = 0;
  Category category = Category::unknown;
  std::string label;  ///< "model.layers.*.mlp.gate_proj, mm"
};

struct Predicted {
  std::vector<PredictedBlock> alive;  ///< the blocks at the peak
  Levels peak;                        ///< each level has its own peak
  std::vector<Bytes> step;            ///< the requests of the measured step, in order
  std::vector<Bytes> step_allocated;  ///< what is allocated after each of them
  std::string words;                  ///< the prediction's options, as they were asked
  std::int64_t micro_batch = 1, sequence_length = 1;
};

/// How much of the predicted step was found in the recording, in order and without a gap.
struct Alignment {
  std::size_t predicted = 0, found = 0;
  std::size_t first_event = 0;  ///< the event of the recording at which the step begins
  std::string first_difference;
  /// Most of the allocations that differ are this fraction of what was predicted (1/2: half).
  std::int64_t numerator = 1, denominator = 1;
};

Alignment aligned(const Recording& recording, const Predicted& predicted, Stories& stories);

/// The causes whose bytes add up to recorded minus predicted: first those of `allocated` at the
/// peak, then what is reserved beyond it. It is empty if both are equal.
std::vector<Residual> residual_of(const ExplainedRecording& recorded, const Predicted& predicted);

}  // namespace memtape
