// SPDX-License-Identifier: Apache-2.0
#include "core/transfers.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/devices.h"
#include "core/ledger.h"
#include "core/settings.h"

namespace memtape::phantom {
namespace {

constexpr std::size_t kLongestKnown = std::size_t{1} << 20, kMostKnown = 64;

/// Device memory whose content is known, because it came from the host and no kernel ran since.
struct Known {
  const char* at;
  std::vector<char> bytes;

  bool holds(const char* from, std::size_t n) const {
    return from >= at && from + n <= at + bytes.size();
  }
  bool meets(const char* from, std::size_t n) const {
    return from < at + bytes.size() && at < from + n;
  }
};
auto& known = *new std::vector<Known>;
std::uint64_t known_at = 0;  ///< how many kernels had been launched by then
std::mutex& known_guard = *new std::mutex;
std::atomic<std::uint64_t> launches{0}, sent{0};
std::atomic<ReadWatcher> watcher{nullptr};

/// The known bytes at `from`; nothing is known any more once a kernel ran.
const char* recall(const char* from, std::size_t bytes) {
  if (known_at != launches.load()) known.clear();
  known_at = launches.load();
  for (const Known& k : known)
    if (k.holds(from, bytes)) return k.bytes.data() + (from - k.at);
  return nullptr;
}

void remember(const char* to, const char* content, std::size_t bytes) {
  std::vector<char> copied(content ? content : to, content ? content + bytes : to);
  std::erase_if(known, [&](const Known& k) { return k.meets(to, bytes); });
  if (known.size() == kMostKnown) known.erase(known.begin());
  if (content) known.push_back({to, std::move(copied)});
}

void copy_to_device(const char* to, const char* from, std::size_t bytes, bool from_device) {
  if (!from_device && bytes > sizeof(std::int64_t)) sent.fetch_add(1, std::memory_order_relaxed);
  const std::lock_guard<std::mutex> lock(known_guard);
  const char* recalled = recall(from, bytes);
  const char* content = from_device ? recalled : from;
  remember(to, bytes <= kLongestKnown ? content : nullptr, bytes);
}

bool answer_from_known(char* to, const char* from, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(known_guard);
  const char* content = recall(from, bytes);
  if (content) std::memcpy(to, content, bytes);
  return content != nullptr;
}

void read(void* to, const void* from, std::size_t bytes) {
  if (const ReadWatcher watch = watcher.load(); watch && watch(to, from, bytes)) return;
  std::memset(to, bytes == 1 ? settings().lone_byte : 0, bytes);
  LedgerProcess& mine = ledger();
  mine.reads.fetch_add(1, std::memory_order_relaxed);
  mine.read_bytes.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

}  // namespace

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const bool to_device = device_of(to).has_value(), from_device = device_of(from).has_value();
  if (!to_device && !from_device) {
    std::memmove(to, from, bytes);
  } else if (bytes <= settings().backing) {
    std::memmove(to, from, bytes);
  } else if (to_device) {
    copy_to_device(static_cast<const char*>(to), static_cast<const char*>(from), bytes,
                   from_device);
  } else if (!answer_from_known(static_cast<char*>(to), static_cast<const char*>(from), bytes)) {
    read(to, from, bytes);
  }
}

void forget(const void* at, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(known_guard);
  remember(static_cast<const char*>(at), nullptr, bytes);
}

void fill(void* at, int value, std::size_t bytes) {
  kernel_launched();
  if (!device_of(at) || bytes <= settings().backing) std::memset(at, value, bytes);
}

void kernel_launched() {
  launches.fetch_add(1, std::memory_order_relaxed);
  ledger().launches.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t sent_copies() { return sent.load(std::memory_order_relaxed); }

void watch_reads(ReadWatcher watch) { watcher.store(watch); }

}  // namespace memtape::phantom
