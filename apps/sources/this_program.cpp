// SPDX-License-Identifier: Apache-2.0
#include "sources/this_program.h"

#ifdef __APPLE__
#include <mach-o/dyld.h>

#include <string>
#endif

namespace memtape::sources {

namespace fs = std::filesystem;

#ifdef __APPLE__
fs::path this_program() {
  std::uint32_t size = 0;
  _NSGetExecutablePath(nullptr, &size);  // says how much it takes
  std::string path(size, '\0');
  if (_NSGetExecutablePath(path.data(), &size) != 0) return {};
  std::error_code unreadable;
  return fs::canonical(path.c_str(), unreadable);
}
#else
fs::path this_program() {
  std::error_code unreadable;
  return fs::read_symlink("/proc/self/exe", unreadable);
}
#endif

}  // namespace memtape::sources
