// SPDX-License-Identifier: Apache-2.0
#include "serving/serve_gpus.h"

#include <fmt/format.h>

namespace memtape {

Result<void> all_gpus_used(const ServeRequest& request, std::string_view engine, int ranks,
                           std::string_view spread) {
  const int gpus = request.device.gpus;
  if (!request.options.has("gpus") || gpus <= ranks) return {};
  return bad_input(
      fmt::format("{} would run on {} of them", engine, ranks), fmt::format("--gpus {}", gpus),
      spread.empty() ? "leave it, or another engine" : fmt::format("as many ranks: {}", spread));
}

}  // namespace memtape
