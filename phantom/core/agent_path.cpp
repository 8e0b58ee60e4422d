// SPDX-License-Identifier: Apache-2.0
// The agent comes into a Python program through PYTHONPATH. A program that starts another with a
// PYTHONPATH of its own would lose it there. This library is loaded before the interpreter reads the
// variable, and puts the agent's folder, which is beside it, first again.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace memtape::phantom {
namespace {

constexpr const char* kPythonPath = "PYTHONPATH";

std::string agent_folder() {
  Dl_info here{};
  static const char marker = 0;
  if (!dladdr(&marker, &here) || !here.dli_fname) return {};
  const std::string file = here.dli_fname;
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? std::string() : file.substr(0, slash) + "/agent";
}

__attribute__((constructor)) void put_agent_first() {
  if (!std::getenv("MEMTAPE_PHANTOM_RUN")) return;
  const std::string folder = agent_folder();
  const char* own = std::getenv(kPythonPath);
  if (folder.empty() || (own && std::strstr(own, folder.c_str()))) return;
  setenv(kPythonPath, own && *own ? (folder + ":" + own).c_str() : folder.c_str(), 1);
}

}  // namespace
}  // namespace memtape::phantom
