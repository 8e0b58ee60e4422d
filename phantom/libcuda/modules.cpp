// SPDX-License-Identifier: Apache-2.0
// Modules, kernels, launches, streams and events of the driver, as Triton and torch's run-time
// compilers use them.
#include "core/capability.h"
#include "core/devices.h"
#include "core/export.h"
#include "core/settings.h"
#include "core/streams.h"
#include "core/transfers.h"
#include "libcuda/driver_types.h"

using namespace memtape::phantom;

namespace {

int handle;  ///< stands for every module, library, kernel and function

int any(void** made) {
  *made = &handle;
  return driver_success;
}

int launch() {
  kernel_launched();
  return driver_success;
}

constexpr int kMaxThreads = 0, kRegistersUsed = 4, kBinaryVersion = 6, kMaxDynamicShared = 8;

}  // namespace

PHANTOM_ENTRY int cuModuleLoad(void** module, const char*) { return any(module); }
PHANTOM_ENTRY int cuModuleLoadData(void** module, const void*) { return any(module); }
PHANTOM_ENTRY int cuModuleLoadDataEx(void** module, const void*, unsigned, int*, void**) {
  return any(module);
}
PHANTOM_ENTRY int cuModuleLoadFatBinary(void** module, const void*) { return any(module); }
PHANTOM_ENTRY int cuModuleGetFunction(void** function, void*, const char*) { return any(function); }
PHANTOM_ENTRY int cuLibraryLoadData(void** library, const void*, int*, void**, unsigned, int*,
                                    void**, unsigned) {
  return any(library);
}
PHANTOM_ENTRY int cuLibraryGetKernel(void** kernel, void*, const char*) { return any(kernel); }
PHANTOM_ENTRY int cuKernelGetFunction(void** function, void*) { return any(function); }
PHANTOM_ENTRY int cuLinkCreate_v2(unsigned, int*, void**, void** state) { return any(state); }
PHANTOM_ENTRY int cuLinkComplete(void*, void** image, std::size_t* bytes) {
  *bytes = sizeof handle;
  return any(image);
}
PHANTOM_ENTRY int cuModuleGetGlobal_v2(DeviceAddress* address, std::size_t* bytes, void*,
                                       const char*) {
  if (address) *address = reinterpret_cast<DeviceAddress>(reserve_addresses(current_device(), 1));
  if (bytes) *bytes = 4096;
  return driver_success;
}

PHANTOM_ENTRY int cuFuncGetAttribute(int* value, int attribute, void*) {
  const Settings& s = settings();
  *value = attribute == kMaxThreads         ? kThreadsPerBlock
           : attribute == kRegistersUsed    ? 32
           : attribute == kBinaryVersion    ? s.capability
           : attribute == kMaxDynamicShared ? capability_facts(s.capability).shared_per_block_optin
                                            : 0;
  return driver_success;
}
PHANTOM_ENTRY int cuFuncGetName(const char** name, void*) {
  *name = "phantom";
  return driver_success;
}
PHANTOM_ENTRY int cuOccupancyMaxActiveClusters(int* clusters, void*, const void*) {
  *clusters = 1;
  return driver_success;
}
PHANTOM_ENTRY int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int,
                                                              std::size_t) {
  *blocks = 1;
  return driver_success;
}

PHANTOM_ENTRY int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 unsigned, void*, void**, void**) {
  return launch();
}
PHANTOM_ENTRY int cuLaunchKernelEx(const void*, void*, void**, void**) { return launch(); }
PHANTOM_ENTRY int cuLaunchCooperativeKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned,
                                            unsigned, unsigned, void*, void**) {
  return launch();
}

PHANTOM_ENTRY int cuStreamCreate(void** stream, unsigned flags) {
  *stream = new_stream(flags, 0);
  return driver_success;
}
PHANTOM_ENTRY int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  *stream = new_stream(flags, priority);
  return driver_success;
}
PHANTOM_ENTRY int cuStreamDestroy_v2(void* stream) {
  delete_stream(stream);
  return driver_success;
}
PHANTOM_ENTRY int cuStreamSynchronize(void*) {
  synchronize();
  return driver_success;
}
PHANTOM_ENTRY int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  wait_for(stream_of(stream), *static_cast<Event*>(event));
  return driver_success;
}
PHANTOM_ENTRY int cuStreamIsCapturing(void* stream, int* status) {
  *status = is_capturing(stream_of(stream)) ? 1 : 0;
  return driver_success;
}
PHANTOM_ENTRY int cuStreamGetCtx(void*, void** context) {
  static char standard;
  *context = &standard;
  return driver_success;
}
PHANTOM_ENTRY int cuEventCreate(void** event, unsigned) {
  *event = new Event;
  return driver_success;
}
PHANTOM_ENTRY int cuEventDestroy_v2(void* event) {
  delete static_cast<Event*>(event);
  return driver_success;
}
PHANTOM_ENTRY int cuEventRecord(void* event, void* stream) {
  record(*static_cast<Event*>(event), stream_of(stream));
  return driver_success;
}
PHANTOM_ENTRY int cuEventQuery(void* event) {
  constexpr int kNotReady = 600;
  return is_done(*static_cast<Event*>(event)) ? driver_success : kNotReady;
}
PHANTOM_ENTRY int cuEventSynchronize(void*) {
  synchronize();
  return driver_success;
}
PHANTOM_ENTRY int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 1.0F;
  return driver_success;
}
