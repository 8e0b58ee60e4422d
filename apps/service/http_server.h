// SPDX-License-Identifier: Apache-2.0
// HttpServer: HTTP/1.1 on one thread (libevent). A handler either answers at once or names the work
// that computes the answer; a child process does that work, and the answer is sent when it is done.
// As many children run at a time as there are workers. Other requests wait in line, and a client
// that finds the line full is told so.
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
  int port = 0;  ///< 0: any free port
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

/// An answer as a response, whose status is 200 for an answer and 400 for bad input.
HttpResponse response_of(const answer::Answered& answered);
/// An error as a response with that status.
HttpResponse response_of(const Error& error, int status);

}  // namespace memtape::service
