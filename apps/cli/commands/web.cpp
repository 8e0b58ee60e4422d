// SPDX-License-Identifier: Apache-2.0
// `memtape web`: the built page, served on this machine alone, and a browser that shows it.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include <fmt/format.h>

#include "commands.h"
#include "service/page_folder.h"
#include "sources/this_program.h"

extern char** environ;  // which POSIX leaves to the program to declare

namespace memtape::cli {
namespace {

namespace fs = std::filesystem;

/// The page that was built (scripts/build_web.sh) or installed with this program.
std::optional<fs::path> built_page() {
  std::error_code unreadable;
  const fs::path beside = sources::this_program().parent_path();  // build/release, or bin
  for (const fs::path& folder : {beside / "../web", beside / "../share/memtape/web"})
    if (fs::exists(folder / "index.html", unreadable)) return folder.lexically_normal();
  return std::nullopt;
}

Result<fs::path> page(const std::string& named) {
  if (named.empty()) {
    if (const auto built = built_page()) return *built;
    return memtape::bad_input("the page does not lie beside this program", "web",
                              "scripts/build_web.sh of the sources builds it; --folder names "
                              "the place of a built one");
  }
  std::error_code unreadable;
  if (fs::exists(fs::path(named) / "index.html", unreadable)) return fs::path(named);
  return memtape::bad_input("holds no index.html", named, "scripts/build_web.sh makes build/web");
}

/// Whatever opens addresses on this machine; nothing where there is no desktop.
void open_browser(const std::string& address) {
#ifdef __APPLE__
  const char* opener = "open";
#else
  const char* opener = "xdg-open";
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY")) return;
#endif
  std::string program = opener, argument = address;
  const std::array<char*, 3> words{program.data(), argument.data(), nullptr};
  pid_t started = 0;
  posix_spawnp(&started, opener, nullptr, nullptr, words.data(), environ);
}

int run_web(const Words& words, Terminal& terminal) {
  const Result<fs::path> folder = page(words.text("folder"));
  if (!folder) return terminal.fail(folder.error());
  service::HttpSettings settings;
  settings.port = static_cast<int>(*words.whole("port"));
  Result<service::HttpServer> server =
      service::HttpServer::listen(std::move(settings), service::page_folder(*folder));
  if (!server) return terminal.fail(server.error());
  const std::string address = fmt::format("http://127.0.0.1:{}/", server->port());
  terminal.print(address + "\n");
  terminal.flush();
  terminal.note("the page is served until ctrl-C");
  if (!words.has("no-open")) open_browser(address);
  server->run();
  return ExitCode::fits;
}

constexpr auto kWebOptions = std::to_array<Option>({
    {"--port", "N", "0: one that is free", {}, option::Whole{0, 65535}, "8472"},
    {"--folder", "FOLDER", "the built page", {}, {}, "build/web beside the program"},
    {"--no-open", "", "do not start a browser"},
});

}  // namespace

const Command kWebCommand{
    .name = "web",
    .summary = "the page, served to this machine's browser",
    .explanation =
        "the page answers as memtape train and memtape serve do, and shows of each tensor "
        "why it is there",
    .example = "memtape web",
    .own = kWebOptions,
    .run = run_web,
};

}  // namespace memtape::cli
