// SPDX-License-Identifier: Apache-2.0
// The runtime's streams and events.
#include "core/streams.h"

#include "libcudart/error.h"

using namespace memtape::phantom;

namespace {

constexpr unsigned kNonBlocking = 1;

Event& event_of(void* handle) { return *static_cast<Event*>(handle); }

}  // namespace

PHANTOM_ENTRY int cudaStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  *stream = new_stream(flags, priority);
  return runtime_success;
}
PHANTOM_ENTRY int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
PHANTOM_ENTRY int cudaStreamCreate(void** stream) {
  return cudaStreamCreateWithPriority(stream, 0, 0);
}
PHANTOM_ENTRY int cudaStreamDestroy(void* stream) {
  delete_stream(stream);
  return runtime_success;
}
PHANTOM_ENTRY int cudaStreamGetPriority(void* stream, int* priority) {
  *priority = stream_of(stream).priority;
  return runtime_success;
}
PHANTOM_ENTRY int cudaStreamGetFlags(void* stream, unsigned* flags) {
  *flags = stream_of(stream).flags | kNonBlocking;
  return runtime_success;
}
PHANTOM_ENTRY int cudaStreamGetDevice(void* stream, int* device) {
  *device = stream_of(stream).device;
  return runtime_success;
}
PHANTOM_ENTRY int cudaStreamGetId(void* stream, unsigned long long* id) {
  *id = stream_of(stream).id;
  return runtime_success;
}
PHANTOM_ENTRY int cudaStreamSynchronize(void*) {
  synchronize();
  return runtime_success;
}
PHANTOM_ENTRY int cudaStreamQuery(void*) { return runtime_success; }
PHANTOM_ENTRY int cudaStreamWaitEvent(void* stream, void* event, unsigned) {
  wait_for(stream_of(stream), event_of(event));
  return runtime_success;
}

// Work handed to the host runs at once, unless it is being captured.
PHANTOM_ENTRY int cudaStreamAddCallback(void* stream, void (*callback)(void*, int, void*),
                                        void* data, unsigned) {
  if (!is_capturing(stream_of(stream))) callback(stream, runtime_success, data);
  return runtime_success;
}
PHANTOM_ENTRY int cudaLaunchHostFunc(void* stream, void (*function)(void*), void* data) {
  if (!is_capturing(stream_of(stream))) function(data);
  return runtime_success;
}

PHANTOM_ENTRY int cudaEventCreateWithFlags(void** event, unsigned) {
  *event = new Event;
  return runtime_success;
}
PHANTOM_ENTRY int cudaEventCreate(void** event) { return cudaEventCreateWithFlags(event, 0); }
PHANTOM_ENTRY int cudaEventDestroy(void* event) {
  delete static_cast<Event*>(event);
  return runtime_success;
}
PHANTOM_ENTRY int cudaEventRecord(void* event, void* stream) {
  record(event_of(event), stream_of(stream));
  return runtime_success;
}
PHANTOM_ENTRY int cudaEventRecordWithFlags(void* event, void* stream, unsigned) {
  return cudaEventRecord(event, stream);
}
PHANTOM_ENTRY int cudaEventQuery(void* event) {
  return is_done(event_of(event)) ? runtime_success : runtime_not_ready;
}
PHANTOM_ENTRY int cudaEventSynchronize(void*) {
  synchronize();
  return runtime_success;
}
PHANTOM_ENTRY int cudaEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = 1.0F;  // programs divide by it
  return runtime_success;
}
PHANTOM_ENTRY int cudaEventElapsedTime_v2(float* milliseconds, void* start, void* end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}
