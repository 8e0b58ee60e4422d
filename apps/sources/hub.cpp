// SPDX-License-Identifier: Apache-2.0
#include "sources/hub.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "sources/files.h"

namespace memtape::sources {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestToken = 4096;
constexpr std::size_t kFirstBytes = std::size_t{128}
                                    << 10;  // holds nearly every header: one request a file
constexpr long kOk = 200, kPartial = 206, kUnauthorized = 401, kForbidden = 403, kNotFound = 404;

/// The first of the variables that is set and not empty.
template <class... Names>
std::string variable(Names... names) {
  for (const char* name : {names...})
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') return value;
  return {};
}

/// huggingface_hub's ENV_VARS_TRUE_VALUES.
bool is_true(std::string value) {
  std::ranges::transform(value, value.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return value == "1" || value == "ON" || value == "YES" || value == "TRUE";
}

fs::path home_of_hub() {
  if (const std::string home = variable("HF_HOME"); !home.empty()) return home;
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return fs::path(cache) / "huggingface";
  return fs::path(variable("HOME")) / ".cache" / "huggingface";
}

std::string token_of_process(const fs::path& home) {
  const std::string said = variable("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN");
  if (const std::string_view token = trimmed(said); !token.empty()) return std::string(token);
  if (is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) return {};
  const std::string stored = variable("HF_TOKEN_PATH");
  const Result<std::string> text =
      read_text_file(stored.empty() ? (home / "token").string() : stored, kLongestToken);
  return text ? std::string(trimmed(*text)) : std::string();
}

/// Why the hub answered with something else than the file.
tl::unexpected<Error> refusal(const HttpResponse& response, const std::string& url,
                              bool with_token) {
  if (response.error_code == "GatedRepo")
    return bad_input("access to this model must be granted on its page first", url,
                     with_token ? "the token in use has no access" : "then set HF_TOKEN");
  if (response.status == kUnauthorized || response.status == kForbidden ||
      response.error_code == "RepoNotFound")
    return bad_input(fmt::format("no such model, or no access to it (HTTP {})", response.status),
                     url,
                     with_token ? "check the name, and what the token may read"
                                : "check the name, or set HF_TOKEN");
  return bad_input(fmt::format("the server answered HTTP {}", response.status), url);
}

}  // namespace

HubSettings HubSettings::of_process() {
  const fs::path home = home_of_hub();
  HubSettings settings;
  if (std::string endpoint = variable("HF_ENDPOINT"); !endpoint.empty())
    settings.endpoint = std::move(endpoint);
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  settings.token = token_of_process(home);
  const std::string cache = variable("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE");
  settings.cache = cache.empty() ? home / "hub" : fs::path(cache);
  settings.offline =
      is_true(variable("HF_HUB_OFFLINE")) || is_true(variable("TRANSFORMERS_OFFLINE"));
  return settings;
}

bool is_hub_id(std::string_view id) {
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  };
  return !id.empty() && id.size() <= 96 && std::ranges::all_of(id, fits) &&
         std::ranges::count(id, '/') <= 1 &&
         std::isalnum(static_cast<unsigned char>(id.front())) != 0 && id.back() != '/' &&
         id.find("..") == std::string_view::npos && id.find("--") == std::string_view::npos &&
         id.find("/.") == std::string_view::npos;
}

std::optional<fs::path> cached_snapshot(const HubSettings& settings, std::string_view id) {
  if (!is_hub_id(id)) return std::nullopt;
  std::string folder = "models--" + std::string(id);
  if (const std::size_t slash = folder.find('/'); slash != std::string::npos)
    folder.replace(slash, 1, "--");
  const fs::path repository = settings.cache / folder;
  const Result<std::string> revision = read_text_file((repository / "refs" / "main").string(), 256);
  if (!revision) return std::nullopt;
  const std::string name(trimmed(*revision));
  if (name.empty() || name.find('/') != std::string::npos || name.front() == '.')
    return std::nullopt;
  const fs::path snapshot = repository / "snapshots" / name;
  return is_there(snapshot / "config.json") ? std::optional(snapshot) : std::nullopt;
}

Result<HubRepository> HubRepository::open(const HubSettings& settings, std::string id) {
  Result<std::unique_ptr<HttpClient>> client = HttpClient::open();
  if (!client) return tl::unexpected(client.error());
  return HubRepository(settings, std::move(id), *std::move(client));
}

std::string HubRepository::url(std::string_view file) const {
  return fmt::format("{}/{}/resolve/main/{}", settings_.endpoint, id_, file);
}

Result<std::optional<HttpResponse>> HubRepository::get(const std::string& file, std::size_t limit,
                                                       bool prefix_only) {
  Result<HttpResponse> response = client_->get({url(file), settings_.token, limit, prefix_only});
  if (!response) return tl::unexpected(response.error());
  if (response->status == kOk || response->status == kPartial) return *std::move(response);
  if (response->status == kNotFound && response->error_code != "RepoNotFound") return std::nullopt;
  return refusal(*response, url(file), !settings_.token.empty());
}

Result<std::optional<std::string>> HubRepository::text(const std::string& file, std::size_t limit) {
  Result<std::optional<HttpResponse>> response = get(file, limit, false);
  if (!response) return tl::unexpected(response.error());
  if (!*response) return std::nullopt;
  return std::move((*response)->body);
}

Result<std::optional<HubFile>> HubRepository::file(const std::string& file) {
  Result<std::optional<HttpResponse>> response = get(file, kFirstBytes, true);
  if (!response) return tl::unexpected(response.error());
  if (!*response) return std::nullopt;
  if (!(*response)->total)
    return bad_input("the server does not tell the size of the file", url(file));
  return HubFile(*this, file, **std::move(response));
}

HubFile::HubFile(HubRepository& repository, std::string file, HttpResponse response)
    : repository_(&repository),
      file_(std::move(file)),
      prefix_(std::move(response.body)),
      size_(*response.total) {}

Result<void> HubFile::read(Bytes offset, std::span<char> into) const {
  const std::size_t end = static_cast<std::size_t>(offset) + into.size();
  if (end > prefix_.size()) {
    Result<std::optional<HttpResponse>> response = repository_->get(file_, end, true);
    if (!response) return tl::unexpected(response.error());
    if (!*response) return bad_input("is gone", name());
    prefix_ = std::move((*response)->body);
  }
  if (end > prefix_.size()) return bad_input("ends early", name());
  if (!into.empty()) std::memcpy(into.data(), prefix_.data() + offset, into.size());
  return {};
}

}  // namespace memtape::sources
