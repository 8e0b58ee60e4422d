// SPDX-License-Identifier: Apache-2.0
#include "phantom/stand_ins.h"

#include <charconv>
#include <cstdlib>

#include <fmt/format.h>

#include "phantom/child.h"
#include "sources/this_program.h"

namespace memtape::phantom_run {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCore = "libmemtape_phantom.so";

std::string with_own(std::string added, const char* variable) {
  const char* own = std::getenv(variable);
  return own && *own ? added + ":" + own : added;
}

/// Libraries under their own names: what the program links against is found loaded already.
std::string preload(const Launch& launch) {
  std::string list;
  const auto add = [&](const fs::path& file) { list += (list.empty() ? "" : ":") + file.string(); };
  for (const int cuda : {13, 12}) {
    if (launch.cuda && *launch.cuda != cuda) continue;
    const fs::path folder = launch.stand_ins / fmt::format("cuda{}", cuda);
    for (const char* name : {"libcudart", "libcublas", "libcublasLt"})
      add(folder / fmt::format("{}.so.{}", name, cuda));
    for (const char* name : {"libcufft", "libcusolver"})  // they count one less than CUDA
      add(folder / fmt::format("{}.so.{}", name, cuda - 1));
  }
  for (const char* name :
       {"libcuda.so.1", "libnccl.so.2", "libnvidia-ml.so.1", "libcudnn.so.9", "libcusparse.so.12"})
    add(launch.stand_ins / "common" / name);
  return with_own(list, "LD_PRELOAD");
}

/// "12.4" as cudaRuntimeGetVersion says it: 12040.
int runtime_version(const std::string& cuda) {
  int major = 0, minor = 0;
  const char* end = cuda.data() + cuda.size();
  const auto [dot, error] = std::from_chars(cuda.data(), end, major);
  if (error == std::errc() && dot != end) std::from_chars(dot + 1, end, minor);
  return major * 1000 + minor * 10;
}

/// "9.19.0.56" as cudnnGetVersion says it: 91900.
std::string cudnn_version(const std::string& version) {
  int parts[3] = {0, 0, 0};
  const char *at = version.data(), *end = at + version.size();
  for (int& part : parts) {
    at = std::from_chars(at, end, part).ptr;
    if (at != end) ++at;
  }
  return std::to_string(parts[0] * 10000 + parts[1] * 100 + parts[2]);
}

/// One process as rank R of N: what torchrun would have set.
void add_rank(Environment& env, const PhantomRequest& r) {
  env.emplace_back("RANK", std::to_string(*r.rank));
  env.emplace_back("WORLD_SIZE", std::to_string(*r.world));
  env.emplace_back("LOCAL_RANK", "0");
  env.emplace_back("LOCAL_WORLD_SIZE", "1");
  env.emplace_back("MASTER_ADDR", "127.0.0.1");
  env.emplace_back("MASTER_PORT", "29500");
  env.emplace_back("MEMTAPE_PHANTOM_SOLO", "1");
}

/// ./memtape builds this program without the libraries, which few commands load: here they are
/// built, once. Programs that were built or installed otherwise have them already.
Result<void> build_where_left_out(const fs::path& program) {
  std::error_code error;
  const fs::path script = program / "../../scripts/build_release.sh";
  if (!fs::exists(program / ".ready", error) || fs::exists(program / "phantom/.ready", error) ||
      !fs::exists(script, error))
    return {};
  const Result<ChildEnd> end =
      run_child({.path = script, .words = {script, "--stand-ins"}, .environment = {}}, [] {});
  if (!end) return tl::unexpected(end.error());
  if (end->exit_code == 0) return {};
  return tl::unexpected(Error{ErrorKind::internal, "the phantom GPU's libraries were not built",
                              program.string(), "the lines above say why"});
}

}  // namespace

Result<fs::path> stand_ins_folder() {
#ifndef __linux__
  return unsupported("the phantom GPU's libraries stand in for those of Linux", "this system",
                     "a Linux machine or container runs them; every answer but a recorded one "
                     "is the same here");
#endif
  std::error_code error;
  const fs::path here = sources::this_program().parent_path();
  if (const Result<void> built = build_where_left_out(here); !built)
    return tl::unexpected(built.error());
  for (const fs::path& folder :
       {here / "phantom", here / "../lib/memtape/phantom", here / "../lib64/memtape/phantom",
        here / "../lib/x86_64-linux-gnu/memtape/phantom"})
    if (fs::exists(folder / kCore, error)) return fs::canonical(folder, error);
  return tl::unexpected(Error{ErrorKind::internal,
                              "the phantom GPU's libraries are not beside this program",
                              here.string(), "build the target phantom"});
}

Environment environment_of(const PhantomRequest& r, const Program& program, const Launch& launch) {
  Environment env{
      {"LD_PRELOAD", preload(launch)},
      {"PYTHONPATH", with_own((launch.stand_ins / "agent").string(), "PYTHONPATH")},
      {"TRITON_LIBCUDA_PATH", (launch.stand_ins / "common").string()},
      {"MEMTAPE_PHANTOM_RUN", launch.run_folder.string()},
      {"MEMTAPE_PHANTOM_GPUS", std::to_string(r.gpus)},
      {"MEMTAPE_PHANTOM_TOTAL", std::to_string(r.total_bytes)},
      {"MEMTAPE_PHANTOM_CONTEXT", std::to_string(r.context_bytes)},
      {"MEMTAPE_PHANTOM_CAPABILITY", std::to_string(r.gpu.capability())},
      {"MEMTAPE_PHANTOM_SMS", std::to_string(r.gpu.sm_count)},
      {"MEMTAPE_PHANTOM_NAME", std::string(r.gpu.name)},
      {"MEMTAPE_PHANTOM_PLACEMENT", r.placement},
      {"MEMTAPE_PHANTOM_EVENTS", r.events},
      {"MEMTAPE_PHANTOM_BACKING", std::to_string(r.backing)},
      {"MEMTAPE_PHANTOM_LONE_BYTE", std::to_string(r.lone_byte)},
      {"MEMTAPE_PHANTOM_VALUES", r.values},
      {"MEMTAPE_PHANTOM_HOST_INIT", r.host_init},
      {"MEMTAPE_PHANTOM_IMBALANCE", fmt::format("{}", r.imbalance)},
      {"MEMTAPE_PHANTOM_STOP_AFTER", std::to_string(r.stop_after)},
      {"MEMTAPE_PHANTOM_MOST_READS", std::to_string(r.most_reads)},
      {"MEMTAPE_PHANTOM_SNAPSHOT", r.snapshot.empty() ? "0" : "1"},
      {"MEMTAPE_PHANTOM_TAPE", r.tape ? "1" : "0"},
  };
  if (r.history) env.emplace_back("MEMTAPE_PHANTOM_HISTORY", std::to_string(*r.history));
  if (program.torch) {
    env.emplace_back("MEMTAPE_PHANTOM_RUNTIME",
                     std::to_string(runtime_version(program.torch->cuda)));
    if (!program.torch->cudnn.empty())
      env.emplace_back("MEMTAPE_PHANTOM_CUDNN", cudnn_version(program.torch->cudnn));
  }
  if (r.rank) add_rank(env, r);
  return env;
}

}  // namespace memtape::phantom_run
