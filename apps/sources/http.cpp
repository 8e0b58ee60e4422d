// SPDX-License-Identifier: Apache-2.0
#include "sources/http.h"

namespace memtape::sources {

Result<std::unique_ptr<HttpClient>> HttpClient::open() {
  std::unique_ptr<HttpClient> client = libcurl_client();
  if (!client) client = curl_program_client();
  if (!client)
    return bad_input("neither libcurl.so.4 nor the program curl is there", "network",
                     "install the package curl");
  return client;
}

}  // namespace memtape::sources
