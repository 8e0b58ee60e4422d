// SPDX-License-Identifier: Apache-2.0
// `memtape serve-http`: the library's requests over HTTP.
#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "commands.h"
#include "heap.h"
#include "outside_process.h"
#include "service/api.h"

namespace memtape::cli {
namespace {

int run_serve_http(const Words& words, Terminal& terminal) {
  give_back_what_is_freed();
  const std::string host = words.text_or_default("host");
  const std::int64_t seconds = *words.whole("seconds");
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  service::HttpSettings settings{
      .host = host,
      .port = static_cast<int>(*words.whole("port")),
      .workers = static_cast<int>(words.whole("workers").value_or(cores)),
      .request_bytes = static_cast<std::size_t>(*words.whole("max-request-bytes")),
      .limits = {.time = std::chrono::seconds(seconds)}};
  const int workers = settings.workers;
  Result<service::HttpServer> server =
      service::HttpServer::listen(std::move(settings), service::api(outside_process()));
  if (!server) return terminal.fail(server.error());
  terminal.print(fmt::format("http://{}:{}/openapi.json\n", host, server->port()));
  terminal.flush();
  terminal.note(
      fmt::format("{} answers at a time, each {} s at most; ctrl-C ends it", workers, seconds));
  server->run();
  return ExitCode::fits;
}

constexpr auto kHttpOptions = std::to_array<Option>({
    {"--port", "N", "0: one that is free", {}, option::Whole{0, 65535}, "8471"},
    {"--host", "ADDRESS", "the address that is listened on", {}, {}, "127.0.0.1"},
    {"--seconds", "N", "the longest that one answer may take", {}, option::Whole{1, 86400}, "30"},
    {"--workers", "N", "answers at a time", {}, option::Whole{1, 1024}, "one a core"},
    {"--max-request-bytes", "N", "the largest request", {}, option::Whole{1, 1 << 30}, "8388608"},
});

}  // namespace

const Command kHttpCommand{
    .name = "serve-http",
    .summary = "the same answers over HTTP, for schedulers and notebooks",
    .explanation =
        "each request is answered as the command of its name is; the option explain shows "
        "how its numbers come about",
    .example = "memtape serve-http --port 8471",
    .own = kHttpOptions,
    .run = run_serve_http,
};

}  // namespace memtape::cli
