// SPDX-License-Identifier: Apache-2.0
// NVML: enough for readers that ask how many devices there are, of what kind, how large and how
// full (pynvml, vLLM, nvidia-smi's imitators). NVML numbers all GPUs; CUDA_VISIBLE_DEVICES does not
// touch it.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/export.h"
#include "core/ledger.h"
#include "core/settings.h"

using namespace memtape::phantom;

namespace {

enum Status : int {
  success = 0,
  invalid_argument = 2,
  not_supported = 3,
  not_found = 6,
  insufficient_size = 7
};

char marks[kLedgerDevices];  ///< a device's handle is the address of its mark

int gpu_of(const void* handle) {
  return static_cast<int>(static_cast<const char*>(handle) - marks);
}

int print(char* to, unsigned length, const char* text) {
  std::snprintf(to, length, "%s", text);
  return success;
}

int handle_of(int gpu, void** handle) {
  if (gpu < 0 || gpu >= settings().gpus) return invalid_argument;
  *handle = marks + gpu;
  return success;
}

/// nvmlPciInfo_t
struct PciInfo {
  char legacy[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char text[32];
};
struct Memory {
  unsigned long long total, free, used;
};
struct MemoryV2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

/// nvmlProcessInfo_t
struct Process {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};
constexpr unsigned kNoInstance = ~0U;

}  // namespace

PHANTOM_ENTRY int nvmlInit_v2() { return success; }
PHANTOM_ENTRY int nvmlInit() { return success; }
PHANTOM_ENTRY int nvmlInitWithFlags(unsigned) { return success; }
PHANTOM_ENTRY int nvmlShutdown() { return success; }
PHANTOM_ENTRY const char* nvmlErrorString(int status) {
  return status == success ? "Success" : "Not Supported";
}

PHANTOM_ENTRY int nvmlSystemGetDriverVersion(char* text, unsigned length) {
  return print(text, length, "580.65.06");
}
PHANTOM_ENTRY int nvmlSystemGetNVMLVersion(char* text, unsigned length) {
  return print(text, length, "13.580.65.06");
}
PHANTOM_ENTRY int nvmlSystemGetCudaDriverVersion(int* version) {
  *version = 13000;
  return success;
}
PHANTOM_ENTRY int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

PHANTOM_ENTRY int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(settings().gpus);
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }
PHANTOM_ENTRY int nvmlDeviceGetHandleByIndex_v2(unsigned gpu, void** handle) {
  return handle_of(static_cast<int>(gpu), handle);
}
PHANTOM_ENTRY int nvmlDeviceGetHandleByIndex(unsigned gpu, void** handle) {
  return nvmlDeviceGetHandleByIndex_v2(gpu, handle);
}
PHANTOM_ENTRY int nvmlDeviceGetHandleByUUID(const char* uuid, void** handle) {
  const char* last = std::strrchr(uuid, '-');
  return handle_of(last ? static_cast<int>(std::strtol(last + 1, nullptr, 16)) : -1, handle);
}
PHANTOM_ENTRY int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** handle) {
  unsigned number = 0;
  return std::sscanf(bus, "%*x:%x", &number) == 1 ? handle_of(static_cast<int>(number) - 1, handle)
                                                  : invalid_argument;
}

PHANTOM_ENTRY int nvmlDeviceGetIndex(void* device, unsigned* gpu) {
  *gpu = static_cast<unsigned>(gpu_of(device));
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetMinorNumber(void* device, unsigned* gpu) {
  return nvmlDeviceGetIndex(device, gpu);
}
PHANTOM_ENTRY int nvmlDeviceGetName(void*, char* text, unsigned length) {
  return print(text, length, settings().name.c_str());
}
/// The UUID of cudaGetDeviceProperties: fifteen zeros and the GPU's number.
PHANTOM_ENTRY int nvmlDeviceGetUUID(void* device, char* text, unsigned length) {
  std::snprintf(text, length, "GPU-00000000-0000-0000-0000-%012x",
                static_cast<unsigned>(gpu_of(device)));
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  std::memset(info, 0, sizeof *info);
  info->bus = static_cast<unsigned>(gpu_of(device) + 1);
  std::snprintf(info->text, sizeof info->text, "00000000:%02X:00.0", info->bus);
  std::snprintf(info->legacy, sizeof info->legacy, "0000:%02X:00.0", info->bus);
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetCudaComputeCapability(void*, int* major, int* minor) {
  *major = settings().major();
  *minor = settings().minor();
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  memory->total = settings().total;
  memory->used = static_cast<unsigned long long>(used_of_gpu(gpu_of(device)));
  memory->free = memory->total > memory->used ? memory->total - memory->used : 0;
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetMemoryInfo_v2(void* device, MemoryV2* memory) {
  Memory plain{};
  nvmlDeviceGetMemoryInfo(device, &plain);
  memory->total = plain.total;
  memory->free = plain.free;
  memory->used = plain.used;
  memory->reserved = 0;
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetP2PStatus(void*, void*, int, int* status) {
  *status = 0;
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 0;
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetUtilizationRates(void*, unsigned* rates) {
  rates[0] = rates[1] = 0;
  return success;
}
PHANTOM_ENTRY int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) {
  *degrees = 0;
  return success;
}
/// The processes of the run that have a context on the GPU, as all of them share one ledger.
PHANTOM_ENTRY int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count,
                                                          Process* processes) {
  const unsigned room = processes != nullptr ? *count : 0;
  unsigned found = 0;
  visit_processes(gpu_of(device), [&](std::int64_t pid, std::int64_t used) {
    if (found < room)
      processes[found] = {static_cast<unsigned>(pid), static_cast<unsigned long long>(used),
                          kNoInstance, kNoInstance};
    ++found;
  });
  *count = found;
  return found > room ? insufficient_size : success;
}
PHANTOM_ENTRY int nvmlDeviceGetComputeRunningProcesses(void* device, unsigned* count,
                                                       Process* processes) {
  return nvmlDeviceGetComputeRunningProcesses_v3(device, count, processes);
}
