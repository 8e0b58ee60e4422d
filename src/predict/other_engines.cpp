// SPDX-License-Identifier: Apache-2.0
#include "predict/other_engines.h"

#include <string>

#include "predict/serve.h"

namespace memtape {
namespace {

constexpr std::string_view kAnyGpu = "h200-141gb";  ///< if none was named

bool is_of_the_model(const Error& error, const ServeRequest& request) {
  if (error.kind != ErrorKind::unsupported || !request.config) return false;
  const std::string& file = request.config->where();
  return error.where == file || error.where == file + ": model_type";
}

bool answers(const ServeEngine& engine, const ServeRequest& request) {
  ServeRequest plain;
  plain.id = request.id;
  plain.config = request.config;
  plain.header = request.header;
  plain.release = request.release;
  plain.device = request.device;
  if (!plain.device.total_bytes())
    if (const auto gpu = find_gpu(kAnyGpu)) plain.device.gpu = *gpu;
  const Result<ServeAnswer> answer = engine.serve(plain);
  return answer || answer.error().kind != ErrorKind::unsupported;
}

}  // namespace

Error with_other_engines(Error error, const ServeEngine& asked, const ServeRequest& request) {
  if (!is_of_the_model(error, request)) return error;
  std::string names;
  for (const ServeEngine& engine : serve_engines())
    if (engine.name != asked.name && answers(engine, request))
      names += (names.empty() ? "--engine " : " or ") + std::string(engine.name);
  if (!names.empty())
    error.hint = names + (names.find(" or ") == std::string::npos ? " answers it" : " answer it");
  else if (error.hint.empty())
    error.hint = "no engine is modelled for it; memtape run -- COMMAND runs a program of your own";
  return error;
}

}  // namespace memtape
