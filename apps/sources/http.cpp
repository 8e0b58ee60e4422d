// SPDX-License-Identifier: Apache-2.0
#include "sources/http.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/text.h"

namespace memtape::sources {
namespace {

// libcurl's interface as far as it is used; the numbers are part of its ABI (curl/curl.h).
enum Option : int {
  kWriteData = 10001,
  kUrl = 10002,
  kRange = 10007,
  kErrorBuffer = 10010,
  kUserAgent = 10018,
  kHeaderData = 10029,
  kBearer = 10220,
  kWriteFunction = 20011,
  kHeaderFunction = 20079,
  kLowSpeedLimit = 19,
  kLowSpeedTime = 20,
  kFollowLocation = 52,
  kMaxRedirects = 68,
  kConnectTimeout = 78,
  kNoSignal = 99,
  kHttpAuth = 107,
  kProtocols = 181,
  kRedirectProtocols = 182,
};
constexpr int kResponseCode = 0x200002;
constexpr long kHttpAndHttps = 3;
constexpr unsigned long kAuthBearer = 64;
constexpr int kWriteError = 23;
constexpr long kConnectSeconds = 10, kStalledSeconds = 20, kSlowestBytesPerSecond = 16,
               kRedirects = 10;
constexpr std::size_t kErrorBufferSize = 256;

struct Library {
  void* (*easy_init)();
  void (*easy_cleanup)(void*);
  void (*easy_reset)(void*);
  int (*easy_setopt)(void*, int, ...);
  int (*easy_perform)(void*);
  int (*easy_getinfo)(void*, int, ...);
  const char* (*easy_strerror)(int);
};

template <class Function>
bool bind(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

/// The loaded library stays loaded until the program ends.
std::optional<Library> load_library() {
  void* handle = nullptr;
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if (handle == nullptr) handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
  Library curl{};
  if (handle == nullptr) return std::nullopt;
  const bool complete = bind(handle, "curl_easy_init", curl.easy_init) &&
                        bind(handle, "curl_easy_cleanup", curl.easy_cleanup) &&
                        bind(handle, "curl_easy_reset", curl.easy_reset) &&
                        bind(handle, "curl_easy_setopt", curl.easy_setopt) &&
                        bind(handle, "curl_easy_perform", curl.easy_perform) &&
                        bind(handle, "curl_easy_getinfo", curl.easy_getinfo) &&
                        bind(handle, "curl_easy_strerror", curl.easy_strerror);
  return complete ? std::optional(curl) : std::nullopt;
}

/// One answer as it arrives.
struct Arrival {
  HttpResponse response;
  std::size_t limit;
  bool full = false;
};

std::size_t on_body(const char* data, std::size_t, std::size_t count, void* user) {
  Arrival& arrival = *static_cast<Arrival*>(user);
  const std::size_t room = arrival.limit - arrival.response.body.size();
  arrival.response.body.append(data, std::min(count, room));
  arrival.full = count > room;
  return arrival.full ? 0 : count;
}

std::optional<Bytes> integer_after(std::string_view text, char before) {
  const std::size_t at = text.rfind(before);
  const std::string_view digits = at == std::string_view::npos ? text : text.substr(at + 1);
  Bytes value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && value >= 0 ? std::optional(value) : std::nullopt;
}

/// The part after "name: " when the line is that header.
std::optional<std::string_view> header_value(std::string_view line, std::string_view name) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  if (!std::equal(name.begin(), name.end(), line.begin(),
                  [&](char a, char b) { return same(b, a); }))
    return std::nullopt;
  line.remove_prefix(name.size() + 1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n' || line.back() == ' '))
    line.remove_suffix(1);
  return line;
}

/// Each response of a chain of redirects begins with a status line; only the last one's headers
/// count.
std::size_t on_header(const char* data, std::size_t, std::size_t count, void* user) {
  HttpResponse& response = static_cast<Arrival*>(user)->response;
  const std::string_view line(data, count);
  if (line.starts_with("HTTP/")) response.total.reset(), response.error_code.clear();
  if (const auto value = header_value(line, "content-range"))
    response.total = integer_after(*value, '/');
  if (const auto value = header_value(line, "content-length"); value && !response.total)
    response.total = integer_after(*value, ' ');
  if (const auto value = header_value(line, "x-error-code")) response.error_code = *value;
  return count;
}

}  // namespace

struct HttpClient::Curl {
  Library library;
  void* handle;

  explicit Curl(const Library& loaded) : library(loaded), handle(library.easy_init()) {}
  Curl(const Curl&) = delete;
  Curl& operator=(const Curl&) = delete;
  ~Curl() {
    if (handle != nullptr) library.easy_cleanup(handle);
  }

  template <class Value>
  void set(Option option, Value value) const {
    library.easy_setopt(handle, option, value);
  }
};

HttpClient::HttpClient(std::unique_ptr<Curl> curl) : curl_(std::move(curl)) {}
HttpClient::HttpClient(HttpClient&&) noexcept = default;
HttpClient::~HttpClient() = default;

Result<HttpClient> HttpClient::open() {
  const std::optional<Library> library = load_library();
  if (!library)
    return bad_input("libcurl.so.4 cannot be loaded", "network", "install the package libcurl4");
  auto curl = std::make_unique<Curl>(*library);
  if (curl->handle == nullptr) return bad_input("libcurl cannot be started", "network");
  return HttpClient(std::move(curl));
}

Result<HttpResponse> HttpClient::get(const HttpRequest& request) {
  Arrival arrival{{}, request.limit};
  std::array<char, kErrorBufferSize> why{};
  const std::string range = fmt::format("0-{}", request.limit - 1);
  curl_->library.easy_reset(curl_->handle);  // keeps connections
  curl_->set(kUrl, request.url.c_str());
  curl_->set(kProtocols, kHttpAndHttps);
  curl_->set(kRedirectProtocols, kHttpAndHttps);
  curl_->set(kFollowLocation, 1L);
  curl_->set(kMaxRedirects, kRedirects);
  curl_->set(kConnectTimeout, kConnectSeconds);
  curl_->set(kLowSpeedLimit, kSlowestBytesPerSecond);
  curl_->set(kLowSpeedTime, kStalledSeconds);
  curl_->set(kNoSignal, 1L);
  curl_->set(kUserAgent, "memtape");
  curl_->set(kErrorBuffer, why.data());
  curl_->set(kWriteFunction, &on_body);
  curl_->set(kWriteData, static_cast<void*>(&arrival));
  curl_->set(kHeaderFunction, &on_header);
  curl_->set(kHeaderData, static_cast<void*>(&arrival));
  if (request.prefix_only) curl_->set(kRange, range.c_str());
  if (!request.token.empty()) {
    curl_->set(kHttpAuth, kAuthBearer);
    curl_->set(kBearer, request.token.c_str());
  }

  const int code = curl_->library.easy_perform(curl_->handle);
  curl_->library.easy_getinfo(curl_->handle, kResponseCode, &arrival.response.status);
  const bool cut = code == kWriteError && arrival.full;
  if (cut && !request.prefix_only)
    return bad_input(fmt::format("larger than {}", human_bytes(static_cast<Bytes>(request.limit))),
                     request.url);
  if (code != 0 && !cut)
    return bad_input(why[0] != '\0' ? why.data() : curl_->library.easy_strerror(code), request.url);
  return std::move(arrival.response);
}

}  // namespace memtape::sources
