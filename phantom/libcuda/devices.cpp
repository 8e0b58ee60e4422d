// SPDX-License-Identifier: Apache-2.0
// The driver's devices and contexts. Every device has its primary context and no other.
#include <cstdio>
#include <cstring>

#include "core/attributes.h"
#include "core/devices.h"
#include "core/export.h"
#include "core/settings.h"
#include "core/streams.h"
#include "libcuda/driver_types.h"

using namespace memtape::phantom;

namespace {

constexpr int kDriverVersion = 13000;
char contexts[64];  ///< a context's handle is the address of its device's mark

int device_in(const void* context) {
  return static_cast<int>(static_cast<const char*>(context) - contexts);
}
void* context_of(int device) { return contexts + device; }

}  // namespace

PHANTOM_ENTRY int cuInit(unsigned) { return driver_success; }
PHANTOM_ENTRY int cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return driver_success;
}
PHANTOM_ENTRY int cuDeviceGetCount(int* count) {
  *count = settings().devices();
  return driver_success;
}
PHANTOM_ENTRY int cuDeviceGet(int* device, int number) {
  *device = number;
  return in_driver_terms(is_device(number), driver_invalid_device);
}
PHANTOM_ENTRY int cuDeviceGetName(char* name, int length, int) {
  std::snprintf(name, static_cast<std::size_t>(length), "%s", settings().name.c_str());
  return driver_success;
}
PHANTOM_ENTRY int cuDeviceGetUuid(char* uuid, int device) {
  std::memset(uuid, 0, 16);
  uuid[15] = static_cast<char>(settings().visible[static_cast<std::size_t>(device)]);
  return driver_success;
}
PHANTOM_ENTRY int cuDeviceGetUuid_v2(char* uuid, int device) {
  return cuDeviceGetUuid(uuid, device);
}
PHANTOM_ENTRY int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!is_device(device)) return driver_invalid_device;
  *value = device_attribute(attribute, device);
  return driver_success;
}
PHANTOM_ENTRY int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = settings().total;
  return driver_success;
}
PHANTOM_ENTRY int cuDeviceComputeCapability(int* major, int* minor, int) {
  *major = settings().major();
  *minor = settings().minor();
  return driver_success;
}
PHANTOM_ENTRY int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return driver_success;
}

PHANTOM_ENTRY int cuCtxGetCurrent(void** context) {
  *context = context_of(current_device());
  return driver_success;
}
PHANTOM_ENTRY int cuCtxSetCurrent(void* context) {
  if (context) set_current_device(device_in(context));
  return driver_success;
}
PHANTOM_ENTRY int cuCtxPushCurrent_v2(void* context) { return cuCtxSetCurrent(context); }
PHANTOM_ENTRY int cuCtxPopCurrent_v2(void** context) {
  return context ? cuCtxGetCurrent(context) : driver_success;
}
PHANTOM_ENTRY int cuCtxGetDevice(int* device) {
  *device = current_device();
  return driver_success;
}
PHANTOM_ENTRY int cuCtxSynchronize() {
  synchronize();
  return driver_success;
}
PHANTOM_ENTRY int cuCtxGetLimit(std::size_t* value, int) {
  *value = 0;
  return driver_success;
}
PHANTOM_ENTRY int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = context_of(device);
  return in_driver_terms(is_device(device), driver_invalid_device);
}
PHANTOM_ENTRY int cuDevicePrimaryCtxGetState(int, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return driver_success;
}

PHANTOM_ENTRY int cuGetErrorString(int error, const char** text) {
  *text = error == driver_out_of_memory ? "out of memory"
          : error                       ? "an error of the phantom GPU"
                                        : "no error";
  return driver_success;
}
PHANTOM_ENTRY int cuGetErrorName(int error, const char** text) {
  *text = error == driver_out_of_memory ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error                       ? "CUDA_ERROR_UNKNOWN"
                                        : "CUDA_SUCCESS";
  return driver_success;
}
