// SPDX-License-Identifier: Apache-2.0
// `memtape serve-http`: the library's requests over HTTP.
#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "commands.h"
#include "outside_process.h"
#include "service/api.h"

namespace memtape::cli {

int run_serve_http(const HttpOptions& options, Terminal& terminal) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  service::HttpSettings settings{.host = options.host,
                                 .port = options.port,
                                 .workers = options.workers > 0 ? options.workers : cores,
                                 .request_bytes = static_cast<std::size_t>(options.request_bytes),
                                 .limits = {.time = std::chrono::seconds(options.seconds)}};
  const int workers = settings.workers;
  Result<service::HttpServer> server =
      service::HttpServer::listen(std::move(settings), service::api(outside_process()));
  if (!server) return terminal.fail(server.error());
  terminal.print(fmt::format("http://{}:{}/openapi.json\n", options.host, server->port()));
  terminal.flush();
  terminal.note(fmt::format("{} answers at a time, each {} s at most; ctrl-C ends it", workers,
                            options.seconds));
  server->run();
  return ExitCode::fits;
}

}  // namespace memtape::cli
