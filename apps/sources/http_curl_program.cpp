// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "base/text.h"
#include "sources/http_headers.h"

extern char** environ;  // which POSIX leaves to the program to declare

namespace memtape::sources {
namespace {

/// Ended when its owner goes.
struct Descriptor {
  int number = -1;

  Descriptor() = default;
  explicit Descriptor(int open) : number(open) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  void close() {
    if (number >= 0) ::close(number);
    number = -1;
  }
};

/// A file without a name.
int scratch_file() {
  std::string name = (std::filesystem::temp_directory_path() / "memtape-XXXXXX").string();
  const int file = ::mkstemp(name.data());
  if (file >= 0) ::unlink(name.c_str());
  return file;
}

/// In the syntax of a curl configuration, where a quoted value has \\ and \" escaped.
std::string in_quotes(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c != '\n' && c != '\r') text += c;
  }
  return text + '"';
}

/// Over standard input: a token does not belong among the words of a process.
std::string configuration(const HttpRequest& request) {
  std::string text = fmt::format(
      "url = {}\nsilent\nshow-error\nlocation\nmax-redirs = 10\nproto = \"=http,https\"\n"
      "proto-redir = \"=http,https\"\nconnect-timeout = 10\nspeed-limit = 16\nspeed-time = 20\n"
      "user-agent = \"memtape\"\ndump-header = \"/dev/fd/3\"\n",
      in_quotes(request.url));
  if (request.prefix_only) text += fmt::format("range = \"0-{}\"\n", request.limit - 1);
  if (!request.token.empty())
    text += fmt::format("header = {}\n", in_quotes("Authorization: Bearer " + request.token));
  return text;
}

std::string text_of_file(int file) {
  std::string text;
  std::array<char, 4096> some;
  ::lseek(file, 0, SEEK_SET);
  for (ssize_t count; (count = ::read(file, some.data(), some.size())) > 0;)
    text.append(some.data(), static_cast<std::size_t>(count));
  return text;
}

/// One request as a process: its configuration, headers and complaints in files, its body in a
/// pipe.
class Transfer {
 public:
  Result<void> start(const HttpRequest& request) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) return failed();
    body_.number = ends[0];
    const Descriptor into(ends[1]);
    for (const Descriptor* file : {&input_, &headers_, &errors_})
      if (file->number < 0) return failed();
    const std::string said = configuration(request);
    if (::write(input_.number, said.data(), said.size()) != static_cast<ssize_t>(said.size()))
      return failed();
    ::lseek(input_.number, 0, SEEK_SET);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    // Out of the way of 0 to 3 first: a descriptor may already have the number of another's place.
    std::array<int, 4> from{input_.number, into.number, errors_.number, headers_.number};
    for (std::size_t i = 0; i < from.size(); ++i)
      posix_spawn_file_actions_adddup2(&actions, from[i], kAway + static_cast<int>(i));
    for (std::size_t i = 0; i < from.size(); ++i)
      posix_spawn_file_actions_adddup2(&actions, kAway + static_cast<int>(i), static_cast<int>(i));
    posix_spawn_file_actions_addclose(&actions, body_.number);
    std::array<const char*, 5> words{"curl", "-q", "--config", "-", nullptr};
    const int error = ::posix_spawnp(&child_, "curl", &actions, nullptr,
                                     const_cast<char**>(words.data()), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) child_ = -1;
    return error == 0 ? Result<void>() : failed();
  }

  ~Transfer() {
    if (child_ > 0) end();
  }

  /// At most `limit` bytes; whether there were more.
  bool read_body(std::string& body, std::size_t limit) {
    std::array<char, 65536> some;
    for (;;) {
      const ssize_t count = ::read(body_.number, some.data(), some.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      const std::size_t room = limit - body.size();
      body.append(some.data(), std::min(room, static_cast<std::size_t>(count)));
      if (static_cast<std::size_t>(count) > room) return true;
    }
  }

  /// The exit code, 0 for a transfer that was cut short.
  int end(bool cut = false) {
    if (cut) ::kill(child_, SIGTERM);
    body_.close();
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return cut || (WIFEXITED(status) && WEXITSTATUS(status) == 0) ? 0 : 1;
  }

  std::string headers() const { return text_of_file(headers_.number); }
  /// "curl: (6) Could not resolve host: x" without the first part.
  std::string complaint() const {
    const std::string text = text_of_file(errors_.number);
    const std::size_t at = text.find(") ");
    return std::string(trimmed(at == text.npos ? text : text.substr(at + 2)));
  }

 private:
  static constexpr int kAway = 100;

  static tl::unexpected<Error> failed() {
    return bad_input("the program curl cannot be started", "network");
  }

  pid_t child_ = -1;
  Descriptor body_;
  Descriptor input_{scratch_file()}, headers_{scratch_file()}, errors_{scratch_file()};
};

class CurlProgram final : public HttpClient {
 public:
  Result<HttpResponse> get(const HttpRequest& request) override {
    Transfer transfer;
    if (const auto started = transfer.start(request); !started)
      return tl::unexpected(started.error());
    HttpResponse response;
    const bool full = transfer.read_body(response.body, request.limit);
    const int code = transfer.end(full);
    if (full && !request.prefix_only)
      return bad_input(
          fmt::format("larger than {}", human_bytes(static_cast<Bytes>(request.limit))),
          request.url);
    if (code != 0) return bad_input(transfer.complaint(), request.url);
    const std::string headers = transfer.headers();
    for (std::size_t at = 0; at < headers.size();) {
      const std::size_t end = std::min(headers.find('\n', at), headers.size());
      take_header(std::string_view(headers).substr(at, end - at), response);
      at = end + 1;
    }
    return response;
  }
};

/// Whether a folder of PATH has it.
bool has_program(std::string_view name) {
  const char* path = ::getenv("PATH");
  std::string_view left = path ? path : "";
  while (!left.empty()) {
    const std::string_view folder = left.substr(0, left.find(':'));
    left.remove_prefix(std::min(left.size(), folder.size() + 1));
    if (::access(fmt::format("{}/{}", folder, name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<HttpClient> curl_program_client() {
  return has_program("curl") ? std::make_unique<CurlProgram>() : nullptr;
}

}  // namespace memtape::sources
