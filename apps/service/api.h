// SPDX-License-Identifier: Apache-2.0
// What `memtape serve-http` answers: the requests of the library (docs/library.md), each at its own
// path, and their description as an OpenAPI document.
#pragma once

#include <string>

#include "http_server.h"

namespace memtape::service {

/// `hub` must outlive it.
HttpServer::Handler api(const answer::Outside& hub);

/// The document has version 3.1 of OpenAPI.
std::string openapi_document();

}  // namespace memtape::service
