// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <string_view>

#include <dlfcn.h>
#include <fmt/format.h>

#include "base/text.h"
#include "sources/http_headers.h"

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
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib"})
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

std::size_t on_header(const char* data, std::size_t, std::size_t count, void* user) {
  take_header({data, count}, static_cast<Arrival*>(user)->response);
  return count;
}

class Libcurl final : public HttpClient {
 public:
  explicit Libcurl(const Library& loaded) : library_(loaded), handle_(library_.easy_init()) {}
  Libcurl(const Libcurl&) = delete;
  Libcurl& operator=(const Libcurl&) = delete;
  ~Libcurl() override {
    if (handle_ != nullptr) library_.easy_cleanup(handle_);
  }

  bool is_ready() const { return handle_ != nullptr; }
  Result<HttpResponse> get(const HttpRequest& request) override;

 private:
  template <class Value>
  void set(Option option, Value value) const {
    library_.easy_setopt(handle_, option, value);
  }

  Library library_;
  void* handle_;
};

Result<HttpResponse> Libcurl::get(const HttpRequest& request) {
  Arrival arrival{{}, request.limit};
  std::array<char, kErrorBufferSize> why{};
  const std::string range = fmt::format("0-{}", request.limit - 1);
  library_.easy_reset(handle_);  // keeps connections
  set(kUrl, request.url.c_str());
  set(kProtocols, kHttpAndHttps);
  set(kRedirectProtocols, kHttpAndHttps);
  set(kFollowLocation, 1L);
  set(kMaxRedirects, kRedirects);
  set(kConnectTimeout, kConnectSeconds);
  set(kLowSpeedLimit, kSlowestBytesPerSecond);
  set(kLowSpeedTime, kStalledSeconds);
  set(kNoSignal, 1L);
  set(kUserAgent, "memtape");
  set(kErrorBuffer, why.data());
  set(kWriteFunction, &on_body);
  set(kWriteData, static_cast<void*>(&arrival));
  set(kHeaderFunction, &on_header);
  set(kHeaderData, static_cast<void*>(&arrival));
  if (request.prefix_only) set(kRange, range.c_str());
  if (!request.token.empty()) {
    set(kHttpAuth, kAuthBearer);
    set(kBearer, request.token.c_str());
  }

  const int code = library_.easy_perform(handle_);
  library_.easy_getinfo(handle_, kResponseCode, &arrival.response.status);
  const bool cut = code == kWriteError && arrival.full;
  if (cut && !request.prefix_only)
    return bad_input(fmt::format("larger than {}", human_bytes(static_cast<Bytes>(request.limit))),
                     request.url);
  if (code != 0 && !cut)
    return bad_input(why[0] != '\0' ? why.data() : library_.easy_strerror(code), request.url);
  return std::move(arrival.response);
}

}  // namespace

std::unique_ptr<HttpClient> libcurl_client() {
  const std::optional<Library> library = load_library();
  if (!library) return nullptr;
  auto client = std::make_unique<Libcurl>(*library);
  return client->is_ready() ? std::move(client) : nullptr;
}

}  // namespace memtape::sources
