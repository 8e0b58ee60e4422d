// SPDX-License-Identifier: Apache-2.0
#include "phantom/program.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>

#include <fmt/format.h>

namespace memtape::phantom_run {
namespace {

namespace fs = std::filesystem;

constexpr int kOldestCuda = 12, kNewestCuda = 13;

/// Prints version, CUDA and cuDNN of the torch that this interpreter would import, without
/// importing it.
constexpr std::string_view kAsk = R"py(
import importlib.util, os
spec = importlib.util.find_spec("torch")
if spec is not None and spec.origin:
    facts = {}
    exec(open(os.path.join(os.path.dirname(spec.origin), "version.py")).read(), facts)
    cuda = facts.get("cuda") or ""
    cudnn = ""
    try:
        from importlib.metadata import version
        cudnn = version("nvidia-cudnn-cu" + cuda.split(".")[0])
    except Exception:
        pass
    print("memtape-torch|%s|%s|%s" % (facts["__version__"], cuda, cudnn))
)py";

bool executable(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

std::optional<fs::path> on_path(std::string_view name) {
  const char* variable = std::getenv("PATH");
  for (std::string_view rest = variable ? variable : ""; !rest.empty();) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, colon)) / name;
    if (executable(candidate)) return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return std::nullopt;
}

bool is_python(const fs::path& path) { return path.filename().string().starts_with("python"); }

/// The interpreter of a script's first line: "#!/venv/bin/python -u", "#!/usr/bin/env python3".
std::string shebang(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(512, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  line.erase(std::min(line.find('\n'), line.size()));
  if (!line.starts_with("#!")) return {};
  const auto word = [&](std::size_t from) {
    const std::size_t start = line.find_first_not_of(' ', from);
    return start == std::string::npos ? std::string()
                                      : line.substr(start, line.find(' ', start) - start);
  };
  const std::string first = word(2);
  if (!first.ends_with("/env")) return first;
  const std::string named = word(line.find(first) + first.size());
  const auto found = on_path(named);
  return found ? found->string() : std::string();
}

std::string shell_word(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::optional<std::string> output_of(const std::string& interpreter, std::string_view code) {
  const std::string command = shell_word(interpreter) + " -c " + shell_word(code) + " 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) return std::nullopt;
  std::string text;
  char buffer[512];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe.get()))
    text.append(buffer, n);
  return text;
}

std::string field(std::string_view line, int number) {
  for (; number > 0; --number) line.remove_prefix(std::min(line.find('|') + 1, line.size()));
  return std::string(line.substr(0, line.find('|')));
}

InstalledTorch torch_of(const std::string& interpreter) {
  const std::string text = output_of(interpreter, kAsk).value_or("");
  const std::size_t at = text.find("memtape-torch|");
  if (at == std::string::npos) return {};
  const std::string line = text.substr(at, text.find('\n', at) - at);
  return {.version = field(line, 1), .cuda = field(line, 2), .cudnn = field(line, 3)};
}

}  // namespace

Result<Program> find_program(const std::vector<std::string>& command) {
  const std::string& name = command.front();
  const bool is_path = name.find('/') != std::string::npos;
  std::error_code error;
  if (is_path && fs::exists(name, error) && !executable(name))
    return bad_input("is no program that can be run", name,
                     "run: a program and its arguments follow --");
  const auto path =
      is_path ? (executable(name) ? std::optional<fs::path>(name) : std::nullopt) : on_path(name);
  if (!path)
    return bad_input("no such command", name, is_path ? "no file of that name" : "not on PATH");
  Program program{.path = path->string(), .interpreter = {}, .torch = std::nullopt};
  program.interpreter = is_python(*path) ? path->string() : shebang(*path);
  if (!is_python(program.interpreter)) program.interpreter.clear();
  if (!program.interpreter.empty()) program.torch = torch_of(program.interpreter);
  return program;
}

Result<std::optional<int>> cuda_of(const Program& program) {
  if (!program.torch) return std::nullopt;
  const InstalledTorch& torch = *program.torch;
  if (torch.version.empty())
    return bad_input("torch is not installed for this Python", program.interpreter,
                     "pip install torch");
  if (torch.cuda.empty())
    return bad_input(fmt::format("torch {} is a build without CUDA", torch.version),
                     program.interpreter,
                     "install a CUDA build: the one that PyPI has for Linux on x86-64");
  int major = 0;
  std::from_chars(torch.cuda.data(), torch.cuda.data() + torch.cuda.size(), major);
  if (major < kOldestCuda || major > kNewestCuda)
    return unsupported(fmt::format("torch {} is built for CUDA {}", torch.version, torch.cuda),
                       program.interpreter,
                       fmt::format("phantom GPUs serve CUDA {} and {}", kOldestCuda, kNewestCuda));
  return major;
}

}  // namespace memtape::phantom_run
