// SPDX-License-Identifier: Apache-2.0
// HttpServer: HTTP/1.1 on one thread (libevent). A handler answers at once, or names the work whose
// answer is sent when it is done, in a child process; as many of these at a time as there are
// workers, the others wait in line, and whoever finds the line full is told so.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "answer_process.h"

namespace memtape::service {

struct HttpRequest {
  std::string method, path;  ///< "POST", "/v1/train": decoded, without the query
  std::string body;
};

struct HttpResponse {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  int exit_code = 0;
};

struct HttpSettings {
  std::string host = "127.0.0.1";
  int port = 0;  ///< 0: one that is free
  int workers = 1;
  std::size_t most_waiting = 256;
  std::size_t request_bytes = std::size_t{8} << 20;
  Limits limits;
};

class HttpServer {
 public:
  using Handler =
      std::function<std::variant<HttpResponse, AnswerProcess::Work>(const HttpRequest&)>;

  static Result<HttpServer> listen(HttpSettings settings, Handler handler);

  HttpServer(HttpServer&&) noexcept;
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  HttpServer& operator=(HttpServer&&) = delete;

  int port() const;

  /// Serves until SIGINT or SIGTERM.
  void run();

 private:
  class Loop;
  explicit HttpServer(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

/// An answer as a response: 200 where there is one, 400 for bad input.
HttpResponse response_of(const answer::Answered& answered);
/// An error as a response with that status.
HttpResponse response_of(const Error& error, int status);

}  // namespace memtape::service
