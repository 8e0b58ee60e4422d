// SPDX-License-Identifier: Apache-2.0
#include "page_folder.h"

#include <array>
#include <fstream>
#include <iterator>

namespace memtape::service {
namespace {

namespace fs = std::filesystem;

std::string type_of(const fs::path& file) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kTypes{
      {{".html", "text/html; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".css", "text/css; charset=utf-8"},
       {".wasm", "application/wasm"},
       {".json", "application/json"},
       {".svg", "image/svg+xml"},
       {".png", "image/png"},
       {".ico", "image/x-icon"},
       {".txt", "text/plain; charset=utf-8"}}};
  for (const auto& [ending, type] : kTypes)
    if (file.extension() == ending) return std::string(type);
  return "application/octet-stream";
}

/// The file that a path means; nothing for one that leads out of the folder.
std::optional<fs::path> file_of(const fs::path& folder, const std::string& path) {
  const fs::path relative = fs::path(path).relative_path().lexically_normal();
  if (path.find('\0') != path.npos || relative.string().starts_with("..")) return std::nullopt;
  std::error_code unreadable;
  const fs::path file =
      relative.empty() || relative == "." ? folder / "index.html" : folder / relative;
  return fs::is_regular_file(file, unreadable) ? std::optional(file) : std::nullopt;
}

}  // namespace

HttpServer::Handler page_folder(fs::path folder) {
  return [folder = std::move(folder)](
             const HttpRequest& request) -> std::variant<HttpResponse, AnswerProcess::Work> {
    const std::optional<fs::path> file = file_of(folder, request.path);
    if (!file) return response_of({ErrorKind::bad_input, "is not there", request.path, {}}, 404);
    std::ifstream in(*file, std::ios::binary);
    return HttpResponse{.type = type_of(*file), .body = {std::istreambuf_iterator<char>(in), {}}};
  };
}

}  // namespace memtape::service
