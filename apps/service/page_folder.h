// SPDX-License-Identifier: Apache-2.0
// Serves the files of a folder over HTTP, for the page.
#pragma once

#include <filesystem>

#include "http_server.h"

namespace memtape::service {

/// It serves only files below `folder`. "/" is its index.html.
HttpServer::Handler page_folder(std::filesystem::path folder);

}  // namespace memtape::service
