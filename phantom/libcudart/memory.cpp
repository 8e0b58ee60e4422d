// SPDX-License-Identifier: Apache-2.0
// The runtime's memory: on the device, pinned on the host, managed; and the copies between them.
#include <cstring>

#include "core/devices.h"
#include "core/host_memory.h"
#include "core/streams.h"
#include "core/transfers.h"
#include "libcudart/error.h"

using namespace memtape::phantom;

namespace {

int take_host(void** address, std::size_t bytes, HostMemory kind) {
  *address = take_host_memory(bytes, kind);
  return *address ? runtime_success : failed(runtime_out_of_memory);
}

void copy_rows(char* to, std::size_t to_pitch, const char* from, std::size_t from_pitch,
               std::size_t width, std::size_t height) {
  for (std::size_t row = 0; row < height; ++row)
    copy(to + row * to_pitch, from + row * from_pitch, width);
}

}  // namespace

PHANTOM_ENTRY int cudaMalloc(void** address, std::size_t bytes) {
  *address = bytes ? take_memory(current_device(), bytes) : nullptr;
  return *address || bytes == 0 ? runtime_success : failed(runtime_out_of_memory);
}

PHANTOM_ENTRY int cudaFree(void* address) {
  if (address && !give_memory(address) && !give_host_memory(address))
    return failed(runtime_invalid_value);
  return runtime_success;
}

PHANTOM_ENTRY int cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const MemoryInfo info = memory_info(current_device());
  *free = info.free;
  *total = info.total;
  return runtime_success;
}

PHANTOM_ENTRY int cudaMallocManaged(void** address, std::size_t bytes, unsigned) {
  return take_host(address, bytes, HostMemory::managed);
}
PHANTOM_ENTRY int cudaHostAlloc(void** address, std::size_t bytes, unsigned) {
  return take_host(address, bytes, HostMemory::pinned);
}
PHANTOM_ENTRY int cudaMallocHost(void** address, std::size_t bytes) {
  return take_host(address, bytes, HostMemory::pinned);
}

PHANTOM_ENTRY int cudaFreeHost(void* address) {
  return !address || give_host_memory(address) ? runtime_success : failed(runtime_invalid_value);
}

PHANTOM_ENTRY int cudaHostRegister(void* address, std::size_t bytes, unsigned) {
  register_host_memory(address, bytes);
  return runtime_success;
}

PHANTOM_ENTRY int cudaHostUnregister(void* address) {
  return unregister_host_memory(address) ? runtime_success : failed(runtime_invalid_value);
}

PHANTOM_ENTRY int cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return runtime_success;
}

PHANTOM_ENTRY int cudaPointerGetAttributes(PointerAttributes* attributes, const void* address) {
  std::memset(attributes, 0, sizeof *attributes);
  void* at = const_cast<void*>(address);
  if (const auto device = device_of(address)) {
    attributes->type = MemoryType::device;
    attributes->device = *device;
    attributes->device_pointer = at;
    return runtime_success;
  }
  const HostMemory kind = host_memory_at(address);
  attributes->type = kind == HostMemory::pinned    ? MemoryType::host
                     : kind == HostMemory::managed ? MemoryType::managed
                                                   : MemoryType::unregistered;
  attributes->device = kind == HostMemory::none ? -2 : current_device();  // cudaInvalidDeviceId
  attributes->host_pointer = at;
  attributes->device_pointer = kind == HostMemory::none ? nullptr : at;
  return runtime_success;
}

PHANTOM_ENTRY int cudaMemcpy(void* to, const void* from, std::size_t bytes, int) {
  synchronize();
  copy(to, from, bytes);
  return runtime_success;
}
PHANTOM_ENTRY int cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, int, void*) {
  copy(to, from, bytes);
  return runtime_success;
}
PHANTOM_ENTRY int cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t bytes,
                                      void*) {
  copy(to, from, bytes);
  return runtime_success;
}
PHANTOM_ENTRY int cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  copy(to, from, bytes);
  return runtime_success;
}
PHANTOM_ENTRY int cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                                    std::size_t from_pitch, std::size_t width, std::size_t height,
                                    int, void*) {
  copy_rows(static_cast<char*>(to), to_pitch, static_cast<const char*>(from), from_pitch, width,
            height);
  return runtime_success;
}
PHANTOM_ENTRY int cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from,
                               std::size_t from_pitch, std::size_t width, std::size_t height, int) {
  copy_rows(static_cast<char*>(to), to_pitch, static_cast<const char*>(from), from_pitch, width,
            height);
  return runtime_success;
}

PHANTOM_ENTRY int cudaMemset(void* at, int value, std::size_t bytes) {
  fill(at, value, bytes);
  return runtime_success;
}
PHANTOM_ENTRY int cudaMemsetAsync(void* at, int value, std::size_t bytes, void*) {
  fill(at, value, bytes);
  return runtime_success;
}
