// SPDX-License-Identifier: Apache-2.0
// HttpClient: GET over libcurl, which is loaded when the first request is made and not before:
// linked in, it and its thirty libraries would cost every start of the program several
// milliseconds, although hardly a run needs the network. Proxies are taken from the environment, as
// libcurl does. Redirects are followed, within http and https; the token goes only to the host that
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
  static Result<HttpClient> open();
  HttpClient(HttpClient&&) noexcept;
  ~HttpClient();

  /// Any answer of the server is a response; an error says why there was none.
  Result<HttpResponse> get(const HttpRequest& request);

 private:
  struct Curl;
  explicit HttpClient(std::unique_ptr<Curl> curl);
  std::unique_ptr<Curl> curl_;
};

}  // namespace memtape::sources
