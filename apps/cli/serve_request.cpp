// SPDX-License-Identifier: Apache-2.0
#include "serve_request.h"

#include "device_options.h"
#include "predict/serve_solve.h"

namespace memtape::cli {

Result<ServeAnswer> answer_serve(const ServeCommand& command, const ServedModel& model) {
  const Result<const ServeEngine*> engine = find_serve_engine(command.engine);
  if (!engine) return tl::unexpected(engine.error());
  ServeRequest request;
  request.id = model.id;
  request.config = model.config;
  request.header = model.header;
  for (const auto& [name, value] : command.values) request.options.add(name, value);
  Result<ServeDevice> device = device_of(command.values);
  if (!device) return tl::unexpected(device.error());
  request.device = *std::move(device);
  const Result<std::int64_t> gpus = request.options.integer("gpus", 1, {1, 1 << 16});
  if (!gpus) return tl::unexpected(gpus.error());
  request.device.gpus = static_cast<int>(*gpus);
  if (const std::string* flag = request.options.find("solve"))
    return solve_serve(**engine, request, *flag);
  return predict_serve(**engine, request);
}

}  // namespace memtape::cli
