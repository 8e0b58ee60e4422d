// SPDX-License-Identifier: Apache-2.0
// Against: a recording beside a prediction. Their peaks are taken apart block by block: what both
// hold (by size) cancels, and what is left is the difference, to the byte, each part with its line
// of the program or its module of the prediction. The allocations of the predicted step are also
// looked up in the recording, in order.
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
  std::vector<PredictedBlock> alive;  ///< at the peak
  Levels peak;                        ///< each level's own
  std::vector<Bytes> step;            ///< the requests of the measured step in order
  std::vector<Bytes> step_allocated;  ///< what is allocated after each of them
  std::string words;                  ///< the prediction as it was asked for
  std::int64_t micro_batch = 1, sequence_length = 1;
};

/// How much of the predicted step was found in the recording, in order and without a gap in
/// between.
struct Alignment {
  std::size_t predicted = 0, found = 0;
  std::size_t first_event = 0;  ///< of the recording, where the step begins
  std::string first_difference;
  /// Of the allocations that differ, most are this part of what was predicted (1/2: half).
  std::int64_t numerator = 1, denominator = 1;
};

Alignment aligned(const Recording& recording, const Predicted& predicted, Stories& stories);

/// Causes whose bytes add up to recorded minus predicted: first those of `allocated` at the peak,
/// then what is reserved beyond it. Empty when all is equal.
std::vector<Residual> residual_of(const ExplainedRecording& recorded, const Predicted& predicted);

}  // namespace memtape
