// SPDX-License-Identifier: Apache-2.0
// NVML's functions and structs are declared from its reference manual: a machine that builds
// memtape need not have its headers.
#include "nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

namespace memtape::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kSuccess = 0;
constexpr unsigned kMostProcesses = 512, kMostLinks = 18;
constexpr unsigned long long kUnknown = ~0ULL;

struct NvmlMemory {
  unsigned long long total, free, used;
};
struct NvmlProcess {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
struct NvmlPci {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char text[32];
};

/// The library, as long as this object lives. A function that it lacks is null.
class Library {
 public:
  Library() : handle_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  ~Library() {
    if (handle_ != nullptr) dlclose(handle_);
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  bool is_there() const { return handle_ != nullptr; }

  /// Calls the function of that name; -1 where the library has none.
  template <class... Arguments>
  int call(const char* name, Arguments... arguments) const {
    using Function = int (*)(Arguments...);
    const auto function = reinterpret_cast<Function>(dlsym(handle_, name));
    return function != nullptr ? function(arguments...) : -1;
  }

 private:
  void* handle_;
};

std::string text_told(const Library& nvml, const char* function) {
  std::array<char, 96> text{};
  if (nvml.call(function, text.data(), static_cast<unsigned>(text.size())) != kSuccess) return {};
  return text.data();
}

std::string text_told(const Library& nvml, const char* function, void* device) {
  std::array<char, 96> text{};
  if (nvml.call(function, device, text.data(), static_cast<unsigned>(text.size())) != kSuccess)
    return {};
  return text.data();
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The words of a process's command; its short name where they cannot be read.
std::string command_of(std::int64_t pid) {
  const fs::path folder = fs::path("/proc") / std::to_string(pid);
  std::string words = first_line(folder / "cmdline");
  std::ranges::replace(words, '\0', ' ');
  while (words.ends_with(' ')) words.pop_back();
  return words.empty() ? first_line(folder / "comm") : words;
}

/// The container's id, shortened as docker shows it: "docker-0123...scope",
/// "/kubepods/.../0123...".
std::string container_of(std::int64_t pid) {
  std::ifstream file(fs::path("/proc") / std::to_string(pid) / "cgroup");
  for (std::string line; std::getline(file, line);) {
    std::size_t run = 0;
    for (std::size_t i = 0; i <= line.size(); ++i) {
      const char c = i < line.size() ? line[i] : '\0';
      const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      if (hex) {
        ++run;
        continue;
      }
      if (run == 64) return line.substr(i - run, 12);
      run = 0;
    }
  }
  return {};
}

void add_processes(const Library& nvml, void* device, const char* function, LocalGpu& gpu) {
  std::vector<NvmlProcess> processes(kMostProcesses);
  unsigned count = kMostProcesses;
  if (nvml.call(function, device, &count, processes.data()) != kSuccess) return;
  for (unsigned i = 0; i < std::min(count, kMostProcesses); ++i) {
    const NvmlProcess& p = processes[i];
    const auto known = [&](const GpuProcess& other) { return other.pid == p.pid; };
    if (std::ranges::any_of(gpu.processes, known)) continue;
    gpu.processes.push_back({.pid = p.pid,
                             .used = p.used == kUnknown ? -1 : static_cast<Bytes>(p.used),
                             .command = command_of(p.pid),
                             .container = container_of(p.pid)});
  }
}

void read_links(const Library& nvml, void* device, LocalGpu& gpu) {
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned active = 0;
    if (nvml.call("nvmlDeviceGetNvLinkState", device, link, &active) == kSuccess)
      gpu.nvlinks += active != 0 ? 1 : 0;
  }
  unsigned generation = 0, width = 0;
  if (nvml.call("nvmlDeviceGetCurrPcieLinkGeneration", device, &generation) == kSuccess)
    gpu.pcie_generation = static_cast<int>(generation);
  if (nvml.call("nvmlDeviceGetCurrPcieLinkWidth", device, &width) == kSuccess)
    gpu.pcie_width = static_cast<int>(width);
}

LocalGpu gpu_at(const Library& nvml, unsigned index, void* device) {
  LocalGpu gpu;
  gpu.index = static_cast<int>(index);
  gpu.name = text_told(nvml, "nvmlDeviceGetName", device);
  gpu.uuid = text_told(nvml, "nvmlDeviceGetUUID", device);
  nvml.call("nvmlDeviceGetCudaComputeCapability", device, &gpu.capability_major,
            &gpu.capability_minor);
  NvmlPci pci{};
  if (nvml.call("nvmlDeviceGetPciInfo_v3", device, &pci) == kSuccess) gpu.bus = pci.text;
  NvmlMemory memory{};
  if (nvml.call("nvmlDeviceGetMemoryInfo", device, &memory) == kSuccess) {
    gpu.total = static_cast<Bytes>(memory.total);
    gpu.used = static_cast<Bytes>(memory.used);
    gpu.free = static_cast<Bytes>(memory.free);
  }
  add_processes(nvml, device, "nvmlDeviceGetComputeRunningProcesses_v3", gpu);
  add_processes(nvml, device, "nvmlDeviceGetGraphicsRunningProcesses_v3", gpu);
  std::ranges::stable_sort(gpu.processes, std::ranges::greater(), &GpuProcess::used);
  read_links(nvml, device, gpu);
  return gpu;
}

void add_nvidia(LocalGpus& found) {
  const Library nvml;
  if (!nvml.is_there()) {
    found.none = "no NVIDIA driver: libnvidia-ml.so.1 is not there";
    return;
  }
  if (const int status = nvml.call("nvmlInit_v2"); status != kSuccess) {
    found.none = fmt::format("NVIDIA's driver does not answer: nvmlInit says {}", status);
    return;
  }
  found.driver = text_told(nvml, "nvmlSystemGetDriverVersion");
  int cuda = 0;
  if (nvml.call("nvmlSystemGetCudaDriverVersion_v2", &cuda) == kSuccess)
    found.cuda = fmt::format("{}.{}", cuda / 1000, cuda % 1000 / 10);
  unsigned count = 0;
  nvml.call("nvmlDeviceGetCount_v2", &count);
  for (unsigned i = 0; i < std::min(count, 1024U); ++i) {
    void* device = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device) == kSuccess)
      found.gpus.push_back(gpu_at(nvml, i, device));
  }
  if (count == 0) found.none = "NVIDIA's driver knows no GPU";
  nvml.call("nvmlShutdown");
}

Bytes number_in(const fs::path& path) {
  const std::string line = first_line(path);
  return line.empty() ? 0 : std::strtoll(line.c_str(), nullptr, 10);
}

/// amdgpu keeps its figures in /sys/class/drm/cardN/device (Linux, driver-api/gpu/amdgpu).
void add_amd(LocalGpus& found) {
  std::error_code error;
  std::vector<fs::path> folders;
  for (const fs::directory_entry& card : fs::directory_iterator("/sys/class/drm", error))
    if (fs::exists(card.path() / "device/mem_info_vram_total", error))
      if (card.path().filename().string().find('-') == std::string::npos)
        folders.push_back(card.path() / "device");
  std::ranges::sort(folders);
  for (const fs::path& folder : folders) {
    LocalGpu gpu;
    gpu.index = static_cast<int>(found.gpus.size());
    gpu.name = first_line(folder / "product_name");
    if (gpu.name.empty()) gpu.name = "AMD GPU " + first_line(folder / "device");
    gpu.total = number_in(folder / "mem_info_vram_total");
    gpu.used = number_in(folder / "mem_info_vram_used");
    gpu.free = gpu.total - gpu.used;
    found.gpus.push_back(std::move(gpu));
  }
}

}  // namespace

LocalGpus local_gpus() {
  LocalGpus found;
  add_nvidia(found);
  add_amd(found);
  if (!found.gpus.empty()) found.none.clear();
  return found;
}

}  // namespace memtape::cli
