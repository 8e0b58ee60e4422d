// SPDX-License-Identifier: Apache-2.0
#include "sources/python_environment.h"

#include <algorithm>
#include <array>
#include <system_error>

#include "sources/files.h"

namespace memtape::sources {
namespace {

namespace fs = std::filesystem;

/// A folder with more entries than this is no site-packages.
constexpr std::size_t kMostEntries = 100'000;

/// "torch-2.8.0+cu128.dist-info" and "torch-2.8.0.egg-info".
std::optional<InstalledPackage> installed_package(std::string_view folder) {
  constexpr std::array<std::string_view, 2> kEndings{".dist-info", ".egg-info"};
  for (const std::string_view ending : kEndings) {
    if (!folder.ends_with(ending)) continue;
    const std::string_view stem = folder.substr(0, folder.size() - ending.size());
    const std::size_t dash = stem.find('-');
    if (dash == std::string_view::npos || dash == 0 || dash + 1 == stem.size()) continue;
    return InstalledPackage{std::string(stem.substr(0, dash)), std::string(stem.substr(dash + 1))};
  }
  return std::nullopt;
}

void add_packages_in(const fs::path& folder, std::vector<InstalledPackage>& packages) {
  std::error_code failed;
  std::size_t entries = 0;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (++entries > kMostEntries) return;
    if (auto found = installed_package(at->path().filename().string()))
      packages.push_back(std::move(*found));
  }
}

/// lib/python3.11/site-packages and, on Debian, dist-packages.
std::vector<fs::path> package_folders(const fs::path& prefix) {
  std::vector<fs::path> folders;
  std::error_code failed;
  const fs::path lib = prefix / "lib";
  for (fs::directory_iterator at(lib, failed), end; !failed && at != end; at.increment(failed)) {
    if (!at->path().filename().string().starts_with("python3")) continue;
    for (const char* name : {"site-packages", "dist-packages"})
      if (is_there(at->path() / name)) folders.push_back(at->path() / name);
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::optional<PythonEnvironment> environment_of_prefix(const fs::path& prefix) {
  if (prefix.empty()) return std::nullopt;
  std::vector<fs::path> folders = package_folders(prefix);
  // Debian's own interpreter also looks below /usr/local (site.py of python3 there).
  if (prefix == "/usr")
    for (fs::path& local : package_folders("/usr/local")) folders.push_back(std::move(local));
  if (folders.empty()) return std::nullopt;
  PythonEnvironment environment{.prefix = prefix, .packages = {}};
  for (const fs::path& folder : folders) add_packages_in(folder, environment.packages);
  return environment;
}

/// The folder of the version that pyenv's shims start: PYENV_VERSION, else its file `version`.
fs::path pyenv_prefix(const fs::path& root, const Variable& variable) {
  std::string version = variable("PYENV_VERSION");
  if (version.empty())
    if (const auto text = read_text_file((root / "version").string(), 4096)) version = *text;
  version = version.substr(0, version.find_first_of(":\r\n"));
  return version.empty() || version == "system" ? fs::path() : root / "versions" / version;
}

fs::path prefix_on_path(const Variable& variable) {
  const std::string path = variable("PATH");
  for (std::size_t from = 0; from <= path.size();) {
    const std::size_t end = std::min(path.find(':', from), path.size());
    const fs::path folder = path.substr(from, end - from);
    from = end + 1;
    if (folder.empty() || !is_there(folder / "python3")) continue;
    if (folder.filename() == "shims") return pyenv_prefix(folder.parent_path(), variable);
    return folder.parent_path();
  }
  return {};
}

}  // namespace

std::optional<PythonEnvironment> active_environment(const Variable& variable) {
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"})
    if (auto found = environment_of_prefix(variable(name))) return found;
  return environment_of_prefix(prefix_on_path(variable));
}

Result<PythonEnvironment> environment_at(const fs::path& place) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(place, failed).lexically_normal();
  if (!is_there(absolute)) return bad_input("no such file or folder", place.string());
  const std::string name = absolute.filename().string();
  if (name == "site-packages" || name == "dist-packages") {
    PythonEnvironment environment{.prefix = absolute, .packages = {}};
    add_packages_in(absolute, environment.packages);
    return environment;
  }
  const bool is_folder = fs::is_directory(absolute, failed);
  const fs::path prefix = is_folder ? absolute : absolute.parent_path().parent_path();
  if (auto found = environment_of_prefix(prefix)) return std::move(*found);
  return bad_input("no Python packages beside it", place.string(),
                   "an interpreter such as .venv/bin/python, or the folder of an environment");
}

}  // namespace memtape::sources
