// SPDX-License-Identifier: Apache-2.0
#include "serving/serve_gpus.h"

#include <fmt/format.h>

namespace memtape {

Result<void> all_gpus_used(const ServeRequest& request, std::string_view engine, int ranks,
                           std::string_view spread) {
  const int gpus = request.device.gpus;
  if (!request.options.has("gpus") || gpus <= ranks || ranks > 1) return {};
  return bad_input(
      fmt::format("{} would run on {} of them", engine, ranks), fmt::format("--gpus {}", gpus),
      spread.empty() ? "leave it, or another engine"
                     : fmt::format("{} {} spreads the model over all of them, --dp {} runs a copy "
                                   "on each",
                                   spread, gpus, gpus));
}

void warn_of_idle_gpus(const ServeRequest& request, std::string_view engine, int ranks,
                       std::vector<std::string>& warnings) {
  const int gpus = request.device.gpus;
  if (!request.options.has("gpus") || gpus <= ranks || ranks == 1) return;
  warnings.push_back(
      fmt::format("--gpus {}: {} runs on {} of them, for which the answer is; the others stay free",
                  gpus, engine, ranks));
}

}  // namespace memtape
