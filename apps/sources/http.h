// SPDX-License-Identifier: Apache-2.0
// HttpClient: GET by libcurl, else by the program curl. Proxies are taken from the environment, as
// curl does. Redirects are followed, within http and https; the token goes only to the host that
// was asked for.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace memtape::sources {

struct HttpRequest {
  std::string url;
  std::string token;  ///< sent as "Authorization: Bearer ..." unless empty
  std::size_t limit;  ///< more than this many bytes are an error, or with `prefix_only` the end
  bool prefix_only = false;  ///< only the first `limit` bytes are wanted
};

struct HttpResponse {
  long status = 0;
  std::string body;
  std::optional<Bytes> total;  ///< size of the whole resource, when the server tells
  std::string
      error_code;  ///< the hub's X-Error-Code: "GatedRepo", "RepoNotFound", "EntryNotFound" ...
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;

  static Result<std::unique_ptr<HttpClient>> open();

  /// Any answer of the server is a response; an error says why there was none.
  virtual Result<HttpResponse> get(const HttpRequest& request) = 0;
};

/// By libcurl, which is loaded when the first request is made and not before: linked in, it and its
/// thirty libraries would cost every start of the program several milliseconds, although hardly a
/// run needs the network. Null where it cannot be loaded.
std::unique_ptr<HttpClient> libcurl_client();

/// By the program curl, a process for each request: for a program that carries its libraries and
/// can load none. Null where there is no such program.
std::unique_ptr<HttpClient> curl_program_client();

}  // namespace memtape::sources
