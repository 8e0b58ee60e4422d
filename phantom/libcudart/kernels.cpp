// SPDX-License-Identifier: Apache-2.0
// Kernels: registered when a library is loaded, asked about, launched into nothing.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/capability.h"
#include "core/devices.h"
#include "core/settings.h"
#include "core/transfers.h"
#include "libcudart/error.h"
#include "libcudart/fat_binary.h"

using namespace memtape::phantom;

namespace {

struct Unit {
  const void* wrapper;
  int architecture = 0;  ///< 0: not asked yet
};
struct Kernel {
  const void* function;
  Unit* unit;
};
std::mutex& guard = *new std::mutex;
auto& kernels = *new std::vector<Kernel>;  ///< sorted by function up to `sorted`
std::size_t sorted = 0;

bool before(const Kernel& a, const Kernel& b) { return a.function < b.function; }

/// The architecture whose code of the kernel runs; the device's own for a kernel that was never
/// registered.
int architecture_of(const void* function) {
  const int capability = settings().capability;
  const std::lock_guard<std::mutex> lock(guard);
  if (sorted != kernels.size()) {
    std::sort(kernels.begin(), kernels.end(), before);
    sorted = kernels.size();
  }
  const auto found =
      std::lower_bound(kernels.begin(), kernels.end(), Kernel{function, nullptr}, before);
  if (found == kernels.end() || found->function != function) return capability;
  Unit& unit = *found->unit;
  if (unit.architecture == 0)
    unit.architecture = architecture_for(architectures_of(unit.wrapper), capability);
  return unit.architecture;
}

struct Configuration {
  Dim3 grid, block;
  std::size_t shared;
  void* stream;
};
thread_local std::vector<Configuration>& configurations = *new std::vector<Configuration>;

int launch() {
  kernel_launched();
  return runtime_success;
}

}  // namespace

PHANTOM_ENTRY void** __cudaRegisterFatBinary(void* wrapper) {
  return reinterpret_cast<void**>(new Unit{wrapper});
}
PHANTOM_ENTRY void __cudaRegisterFatBinaryEnd(void**) {}
PHANTOM_ENTRY void __cudaUnregisterFatBinary(void**) {}
PHANTOM_ENTRY void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int,
                                     int) {}
PHANTOM_ENTRY void __cudaRegisterFunction(void** unit, const char* function, char*, const char*,
                                          int, void*, void*, void*, void*, int*) {
  const std::lock_guard<std::mutex> lock(guard);
  kernels.push_back({function, reinterpret_cast<Unit*>(unit)});
}

PHANTOM_ENTRY unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, std::size_t shared,
                                                   void* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
PHANTOM_ENTRY int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, std::size_t* shared,
                                             void* stream) {
  if (configurations.empty()) return failed(runtime_invalid_value);
  const Configuration last = configurations.back();
  configurations.pop_back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<void**>(stream) = last.stream;
  return runtime_success;
}
PHANTOM_ENTRY int __cudaGetKernel(const void** kernel, const void* function) {
  *kernel = function;
  return runtime_success;
}
PHANTOM_ENTRY int __cudaLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void*) {
  return launch();
}
PHANTOM_ENTRY int cudaLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void*) {
  return launch();
}
PHANTOM_ENTRY int cudaLaunchCooperativeKernel(const void*, Dim3, Dim3, void**, std::size_t, void*) {
  return launch();
}
PHANTOM_ENTRY int cudaLaunchKernelExC(const void*, const void*, void**) { return launch(); }
PHANTOM_ENTRY int cudaGraphLaunch(void*, void*) { return launch(); }

PHANTOM_ENTRY int cudaFuncGetAttributes(FunctionAttributes* attributes, const void* function) {
  std::memset(attributes, 0, sizeof *attributes);
  attributes->max_threads_per_block = kThreadsPerBlock;
  attributes->registers = 32;
  attributes->ptx_version = attributes->binary_version = architecture_of(function);
  attributes->max_dynamic_shared_bytes =
      capability_facts(settings().capability).shared_per_block_optin;
  return runtime_success;
}

PHANTOM_ENTRY int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                         int threads, std::size_t,
                                                                         unsigned) {
  const Capability facts = capability_facts(settings().capability);
  *blocks = std::clamp(threads > 0 ? facts.threads_per_sm / threads : 1, 1, facts.blocks_per_sm);
  return runtime_success;
}
PHANTOM_ENTRY int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                                int threads, std::size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared,
                                                                0);
}
PHANTOM_ENTRY int cudaOccupancyMaxActiveClusters(int* clusters, const void*, const void*) {
  *clusters = 1;
  return runtime_success;
}

/// A variable on the device: part of the module, which the context's bytes cover, so it costs
/// nothing here.
PHANTOM_ENTRY int cudaGetSymbolAddress(void** address, const void*) {
  static void* const page = reserve_addresses(current_device(), 1);
  *address = page;
  return runtime_success;
}
PHANTOM_ENTRY int cudaGetSymbolSize(std::size_t* bytes, const void*) {
  *bytes = 4096;
  return runtime_success;
}
