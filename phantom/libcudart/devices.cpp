// SPDX-License-Identifier: Apache-2.0
// Devices of the runtime: how many, of what kind, which one is current.
#include <cstdio>
#include <cstring>
#include <string>

#include "core/attributes.h"
#include "core/capability.h"
#include "core/devices.h"
#include "core/ledger.h"
#include "core/settings.h"
#include "core/streams.h"
#include "libcudart/error.h"

using namespace memtape::phantom;

namespace {

constexpr int kNoDevice = 100;
/// The driver is newer than every runtime here, as drivers are on a machine that is kept up to
/// date.
constexpr int kDriverVersion = 13000;

int runtime_version() { return settings().runtime ? settings().runtime : PHANTOM_CUDA * 1000; }

void set_limits(DeviceProperties& p) {
  const Capability facts = capability_facts(settings().capability);
  p.shared_per_block = kSharedPerBlock;
  p.registers_per_block = p.registers_per_multiprocessor = kRegisters;
  p.warp_size = kWarp;
  p.max_threads_per_block = p.max_threads[0] = p.max_threads[1] = kThreadsPerBlock;
  p.max_threads[2] = 64;
  p.max_grid[0] = 2147483647;
  p.max_grid[1] = p.max_grid[2] = 65535;
  p.constant_memory = kConstantMemory;
  p.texture_alignment = 512;
  p.texture_pitch_alignment = 32;
  p.threads_per_multiprocessor = facts.threads_per_sm;
  p.shared_per_multiprocessor = static_cast<std::size_t>(facts.shared_per_sm);
  p.shared_per_block_optin = static_cast<std::size_t>(facts.shared_per_block_optin);
  p.blocks_per_multiprocessor = facts.blocks_per_sm;
  p.reserved_shared_per_block = 1024;
}

void set_features(DeviceProperties& p) {
  p.can_map_host_memory = p.concurrent_kernels = p.unified_addressing = p.stream_priorities = 1;
  p.global_l1 = p.local_l1 = p.managed_memory = p.concurrent_managed_access = p.compute_preemption =
      1;
  p.cooperative_launch = p.host_register = p.memory_pools = p.ipc_events = 1;
  p.async_engines = 3;
  p.l2_bytes = kL2Bytes;
  p.persisting_l2_bytes = kL2Bytes / 8 * 5;
  p.memory_bus_width = 5120;
}

}  // namespace

PHANTOM_ENTRY int cudaGetDeviceCount(int* count) {
  *count = settings().devices();
  return *count ? runtime_success : kNoDevice;
}

PHANTOM_ENTRY int cudaGetDevice(int* device) {
  *device = current_device();
  return runtime_success;
}

PHANTOM_ENTRY int cudaSetDevice(int device) {
  if (!is_device(device)) {
    note("device", "device " + std::to_string(device) + " was asked for, but there are " +
                       std::to_string(settings().devices()) + " (--gpus N gives more)");
    return failed(runtime_invalid_device);
  }
  set_current_device(device);
  return runtime_success;
}

PHANTOM_ENTRY int cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (!is_device(device)) return failed(runtime_invalid_device);
  *value = device_attribute(attribute, device);
  return runtime_success;
}

PHANTOM_ENTRY int cudaGetDeviceProperties(DeviceProperties* p, int device) {
  if (!is_device(device)) return failed(runtime_invalid_device);
  const Settings& s = settings();
  const int gpu = s.visible[static_cast<std::size_t>(device)];
  std::memset(p, 0, sizeof *p);
  std::snprintf(p->name, sizeof p->name, "%s", s.name.c_str());
  p->uuid[15] = static_cast<char>(gpu);
  p->total_global_memory = s.total;
  p->major = s.major();
  p->minor = s.minor();
  p->multiprocessors = s.sms;
  p->pci_bus = gpu + 1;
  set_limits(*p);
  set_features(*p);
  return runtime_success;
}
PHANTOM_ENTRY int cudaGetDeviceProperties_v2(DeviceProperties* p, int device) {
  return cudaGetDeviceProperties(p, device);
}

PHANTOM_ENTRY int cudaDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return runtime_success;
}

PHANTOM_ENTRY int cudaRuntimeGetVersion(int* version) {
  *version = runtime_version();
  return runtime_success;
}

PHANTOM_ENTRY int cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return runtime_success;
}

PHANTOM_ENTRY int cudaDeviceGetPCIBusId(char* text, int length, int device) {
  if (!is_device(device)) return failed(runtime_invalid_device);
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02x:00.0",
                device_attribute(33, device));
  return runtime_success;
}

PHANTOM_ENTRY int cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return runtime_success;
}

PHANTOM_ENTRY int cudaDeviceSynchronize() {
  synchronize();
  return runtime_success;
}
