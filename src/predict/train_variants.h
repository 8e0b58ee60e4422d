// SPDX-License-Identifier: Apache-2.0
// The same training with other options or on other GPUs, many at once. --solve, --grid and
// --compare use it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "option/given.h"
#include "predict/train.h"

namespace memtape {

struct TrainVariant {
  NamedValues changes;
  DeviceSetup device;
};

/// What a variant needs, in brief, or why there is no such training.
struct VariantAnswer {
  Bytes needed_bytes = 0;  ///< report::needed()
  /// The peak without the device's limit, where it fits because cached segments go back.
  std::optional<Bytes> without_limit_bytes;
  Bytes low_bytes = 0, high_bytes = 0;  ///< bounds of what is needed
  std::optional<DeviceSummary> device;
  std::optional<VerdictWord> verdict;
  std::optional<bool> fits;
  std::optional<Bytes> headroom_bytes;
  std::string failure;

  bool is_possible() const { return failure.empty(); }
};

VariantAnswer answer_variant(const ModelRequest& model, const CommandWords& command,
                             const TrainVariant& variant);

std::vector<VariantAnswer> answer_variants(const ModelRequest& model, const CommandWords& command,
                                           const std::vector<TrainVariant>& variants,
                                           const Workers& workers);

}  // namespace memtape
