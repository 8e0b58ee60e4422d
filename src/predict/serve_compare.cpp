// SPDX-License-Identifier: Apache-2.0
#include "predict/serve_compare.h"

#include <utility>

#include "predict/serve_question.h"

namespace memtape {
namespace {

ComparedServer compared(const ServeEngine& engine, const ServeRequest& asked, const Gpu& gpu,
                        const std::string& quantize) {
  ServeRequest request = asked;
  request.device.gpu = gpu;
  if (!quantize.empty()) request.options.add("quantize", quantize);
  ComparedServer server{
      .gpu = std::string(gpu.id), .quantize = quantize, .answer = {}, .failure = {}};
  Result<ServeAnswer> answer = answer_question(engine, request);
  if (answer)
    server.answer = std::move(*answer);
  else
    server.failure = answer.error().line();
  return server;
}

/// Whether `a` is the server to take rather than `b`; both fit.
bool is_better(const ComparedServer& a, const ComparedServer& b) {
  const Bytes total_a = a.answer->device->total_bytes, total_b = b.answer->device->total_bytes;
  if (total_a != total_b) return total_a < total_b;
  return a.answer->model.weight_bytes > b.answer->model.weight_bytes;
}

}  // namespace

Comparison compare_serve(const ServeEngine& engine, const ServeRequest& request,
                         const std::vector<Gpu>& gpus,
                         const std::vector<std::string>& quantizations, bool strict) {
  Comparison comparison;
  const std::vector<std::string> kAsked{""};
  for (const Gpu& gpu : gpus)
    for (const std::string& quantize : quantizations.empty() ? kAsked : quantizations)
      comparison.servers.push_back(compared(engine, request, gpu, quantize));
  const std::vector<ComparedServer>& servers = comparison.servers;
  for (std::size_t i = 0; i < servers.size(); ++i)
    if (servers[i].fits(strict) &&
        (!comparison.winner || is_better(servers[i], servers[*comparison.winner])))
      comparison.winner = i;
  return comparison;
}

}  // namespace memtape
