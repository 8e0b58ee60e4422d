// SPDX-License-Identifier: Apache-2.0
#include "core/host_memory.h"

#include <cstdlib>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>

#include "core/ledger.h"

namespace memtape::phantom {
namespace {

constexpr std::size_t kHostPage = 4096;

struct Range {
  std::size_t bytes;
  HostMemory kind;
  bool ours;  ///< taken here, not registered
};
std::mutex& guard = *new std::mutex;
auto& ranges = *new std::map<const char*, Range>;

void count(HostMemory kind, std::int64_t bytes) {
  LedgerProcess& mine = ledger();
  if (kind == HostMemory::managed)
    raise(mine.managed_peak, mine.managed.fetch_add(bytes) + bytes);
  else
    raise(mine.pinned_peak, mine.pinned.fetch_add(bytes) + bytes);
}

void add(void* address, const Range& range) {
  const std::lock_guard<std::mutex> lock(guard);
  ranges[static_cast<const char*>(address)] = range;
  count(range.kind, static_cast<std::int64_t>(range.bytes));
}

std::optional<Range> remove(void* address) {
  const std::lock_guard<std::mutex> lock(guard);
  const auto found = ranges.find(static_cast<const char*>(address));
  if (found == ranges.end()) return std::nullopt;
  const Range range = found->second;
  ranges.erase(found);
  count(range.kind, -static_cast<std::int64_t>(range.bytes));
  return range;
}

}  // namespace

void* take_host_memory(std::size_t bytes, HostMemory kind) {
  void* address = nullptr;
  if (posix_memalign(&address, kHostPage, bytes ? bytes : 1) != 0) return nullptr;
  add(address, {bytes, kind, true});
  return address;
}

bool give_host_memory(void* address) {
  const std::optional<Range> range = remove(address);
  if (range && range->ours) std::free(address);
  return range.has_value();
}

void register_host_memory(void* address, std::size_t bytes) {
  add(address, {bytes, HostMemory::pinned, false});
}

bool unregister_host_memory(void* address) { return remove(address).has_value(); }

HostMemory host_memory_at(const void* address) {
  const std::lock_guard<std::mutex> lock(guard);
  const char* at = static_cast<const char*>(address);
  const auto after = ranges.upper_bound(at);
  if (after == ranges.begin()) return HostMemory::none;
  const auto& [start, range] = *std::prev(after);
  return at < start + range.bytes ? range.kind : HostMemory::none;
}

}  // namespace memtape::phantom
