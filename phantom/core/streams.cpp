// SPDX-License-Identifier: Apache-2.0
#include "core/streams.h"

#include <atomic>
#include <mutex>
#include <set>

#include "core/devices.h"
#include "core/settings.h"

namespace memtape::phantom {
namespace {

constexpr std::uintptr_t kLastDefaultHandle = 2;

std::atomic<std::uint64_t> synchronizations{0}, streams_made{0};
std::mutex& guard = *new std::mutex;
auto& captures = *new std::set<std::uint64_t>;  ///< under way
std::uint64_t captures_begun = 0;

}  // namespace

Stream& stream_of(const void* handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) > kLastDefaultHandle)
    return *static_cast<Stream*>(const_cast<void*>(handle));
  static thread_local Stream standard;
  standard.device = current_device();
  return standard;
}

Stream* new_stream(unsigned flags, int priority) {
  return new Stream{current_device(), priority, flags, 0, ++streams_made};
}

void delete_stream(void* handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) > kLastDefaultHandle)
    delete static_cast<Stream*>(handle);
}

void record(Event& event, const Stream& stream) {
  event.recorded = synchronizations.load() + 1;
  event.capture = is_capturing(stream) ? stream.capture : 0;
}

bool is_done(const Event& event) {
  return !settings().events_wait || event.recorded <= synchronizations.load();
}

void wait_for(Stream& stream, const Event& event) {
  if (event.capture == 0) return;
  const std::lock_guard<std::mutex> lock(guard);
  if (captures.count(event.capture)) stream.capture = event.capture;
}

void synchronize() { ++synchronizations; }

bool is_capturing(const Stream& stream) {
  if (stream.capture == 0) return false;
  const std::lock_guard<std::mutex> lock(guard);
  return captures.count(stream.capture) != 0;
}

void begin_capture(Stream& stream) {
  const std::lock_guard<std::mutex> lock(guard);
  stream.capture = ++captures_begun;
  captures.insert(stream.capture);
}

void end_capture(Stream& stream) {
  const std::lock_guard<std::mutex> lock(guard);
  captures.erase(stream.capture);
  stream.capture = 0;
}

}  // namespace memtape::phantom
