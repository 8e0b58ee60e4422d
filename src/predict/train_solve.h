// SPDX-License-Identifier: Apache-2.0
// --solve: the largest micro-batch, sequence or rank of adapters that fits, or the fewest GPUs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "option/given.h"
#include "predict/train_variants.h"

namespace memtape {

struct SolvedTraining {
  std::string what;
  NamedValues changes;     ///< as its framework spells it
  std::int64_t value = 0;  ///< 0 if none fits
  VariantAnswer at_value;
  std::int64_t beyond = 0;             ///< the nearest value that does not fit; 0: none was found
  VariantAnswer at_beyond;             ///< where `beyond` is not 0
  std::int64_t limit = 0;              ///< the search ended here with all fitting; 0: it did not
  std::string limit_reason;            ///< why
  std::vector<std::int64_t> also_fit;  ///< farther values that fit all the same: not monotone
};

/// Asks for exact answers at doubled values, then between the last two, and then looks whether a
/// larger value fits again.
Result<SolvedTraining> solve_training(const ModelRequest& model, const CommandWords& command,
                                      const DeviceSetup& device, std::string_view what);

}  // namespace memtape
