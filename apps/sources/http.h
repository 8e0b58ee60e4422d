// SPDX-License-Identifier: Apache-2.0
// HttpClient: makes GET requests by libcurl, or else by the program curl. Proxies are taken from
// the environment, as curl does. Redirects are followed within http and https; the token goes only
// to the host that was asked.
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
  std::string token;         ///< sent as "Authorization: Bearer ..." unless it is empty
  std::size_t limit;         ///< a longer response is an error or, with `prefix_only`, is cut
  bool prefix_only = false;  ///< only the first `limit` bytes are needed
};

struct HttpResponse {
  long status = 0;
  std::string body;
  std::optional<Bytes> total;  ///< the size of the whole resource, if the server says it
  std::string
      error_code;  ///< the hub's X-Error-Code: "GatedRepo", "RepoNotFound", "EntryNotFound" ...
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;

  static Result<std::unique_ptr<HttpClient>> open();

  /// Any answer of the server is a response. An error says why there was no answer.
  virtual Result<HttpResponse> get(const HttpRequest& request) = 0;
};

/// A client that uses libcurl, which is loaded at the first request. If it were linked in, libcurl
/// and its thirty libraries would cost several milliseconds at every start of the program, although
/// hardly any run needs the network. It is null if libcurl cannot be loaded.
std::unique_ptr<HttpClient> libcurl_client();

/// A client that uses the program curl, with a process for each request. It is for a program that
/// is linked statically and cannot load libraries. It is null if there is no such program.
std::unique_ptr<HttpClient> curl_program_client();

}  // namespace memtape::sources
