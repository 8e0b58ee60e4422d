// SPDX-License-Identifier: Apache-2.0
// Scale: the values of a flag that --solve tries. Positions count from 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "predict/serve.h"

namespace memtape {

struct Scale {
  enum class Kind : std::uint8_t {
    count,  ///< 1, 2, 3 ...: the largest is wanted
    share,  ///< 1.00, 0.99 ... 0.01 of the GPU: the smallest
    ranks,  ///< GPUs to divide the model over: the fewest
  };
  std::string_view flag;  ///< by its name
  Kind kind = Kind::count;
  std::int64_t limit = 0;  ///< how many GPUs there are; 0 if the request does not say

  std::int64_t most() const;
  std::string text(std::int64_t at) const;
  std::string_view wanted() const;
  /// Positions that are asked first, in this order.
  std::vector<std::int64_t> grid() const;
  /// The request with the value at a position.
  ServeRequest with(const ServeRequest& request, std::int64_t at) const;
};

/// The scale of the flag that `asked` names. It is an error if the engine has no such flag or the
/// flag takes no number.
Result<Scale> scale_of(const ServeEngine& engine, const ServeRequest& request,
                       std::string_view asked);

}  // namespace memtape
