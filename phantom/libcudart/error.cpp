// SPDX-License-Identifier: Apache-2.0
#include "libcudart/error.h"

#include "core/export.h"

using namespace memtape::phantom;

namespace {

thread_local int last = runtime_success;

struct Text {
  int code;
  const char *name, *sentence;
};
constexpr Text kTexts[] = {
    {runtime_success, "cudaSuccess", "no error"},
    {runtime_invalid_value, "cudaErrorInvalidValue", "invalid argument"},
    {runtime_out_of_memory, "cudaErrorMemoryAllocation", "out of memory"},
    {100, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {runtime_invalid_device, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {runtime_not_ready, "cudaErrorNotReady", "device not ready"},
    {runtime_not_supported, "cudaErrorNotSupported", "operation not supported"},
};

const Text& text_of(int code) {
  static constexpr Text kOther{-1, "cudaErrorUnknown", "unknown error"};
  for (const Text& text : kTexts)
    if (text.code == code) return text;
  return kOther;
}

}  // namespace

int memtape::phantom::failed(RuntimeError error) { return last = error; }

PHANTOM_ENTRY int cudaGetLastError() {
  const int error = last;
  last = runtime_success;
  return error;
}
PHANTOM_ENTRY int cudaPeekAtLastError() { return last; }
PHANTOM_ENTRY const char* cudaGetErrorString(int code) { return text_of(code).sentence; }
PHANTOM_ENTRY const char* cudaGetErrorName(int code) { return text_of(code).name; }
