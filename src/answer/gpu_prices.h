// SPDX-License-Identifier: Apache-2.0
// GpuPrices: what an hour of one GPU costs, as --price says it for every question: one number for
// whatever GPU is asked about, or one for each kind, as in h100-80gb=2.5,a100-80gb=1.5.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "mesh/gpu_catalog.h"

namespace memtape::answer {

class GpuPrices {
 public:
  /// Empty text knows no price. A price is above 0 and below a million.
  static Result<GpuPrices> read(std::string_view text);

  /// Nothing if no price of that GPU is known.
  std::optional<double> of(const Gpu& gpu) const;

 private:
  struct Price {
    std::string gpu;  ///< the catalog's id, or "" for any
    double per_hour = 0;
  };
  std::vector<Price> prices_;
};

}  // namespace memtape::answer
