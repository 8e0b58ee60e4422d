// SPDX-License-Identifier: Apache-2.0
// cudaMallocAsync and its pools, as the allocator backend of that name uses them. The driver does
// not document how a pool grows: here it takes chunks of 32 MiB, the driver's unit of address
// space, and serves requests first fit in units of 512 bytes. What is used is exact, what is
// reserved an estimate; the run says so.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <unordered_map>

#include "core/address_space.h"
#include "core/devices.h"
#include "core/ledger.h"
#include "core/settings.h"
#include "libcudart/error.h"

using namespace memtape::phantom;

namespace {

enum PoolAttribute : int {
  release_threshold = 4,
  reserved_current = 5,
  reserved_high = 6,
  used_current = 7,
  used_high = 8,
};

constexpr std::size_t kUnit = 512;  ///< alignment of what cudaMallocAsync returns

class Pool {
 public:
  std::uint64_t threshold = 0, used = 0, used_most = 0, reserved = 0, reserved_most = 0;

  char* take(int device, std::size_t bytes) {
    char* address = find(bytes);
    if (!address && grow(device, bytes)) address = find(bytes);
    if (!address) return nullptr;
    pieces_[address] = bytes;
    used_most = std::max(used_most, used += bytes);
    return address;
  }

  bool give(char* address) {
    const auto piece = pieces_.find(address);
    if (piece == pieces_.end()) return false;
    used -= piece->second;
    free_range(address, piece->second);
    pieces_.erase(piece);
    return true;
  }

  /// Gives chunks that hold nothing back to the device while more than `keep` bytes are reserved.
  void trim(std::uint64_t keep) {
    for (auto chunk = chunks_.begin(); chunk != chunks_.end() && reserved > keep;) {
      const auto hole = holes_.find(chunk->first);
      if (hole == holes_.end() || hole->second != chunk->second) {
        ++chunk;
        continue;
      }
      give_memory(chunk->first);
      reserved -= chunk->second;
      holes_.erase(hole);
      chunk = chunks_.erase(chunk);
    }
  }

 private:
  char* find(std::size_t bytes) {
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
      if (hole->second < bytes) continue;
      const auto [address, length] = *hole;
      holes_.erase(hole);
      if (length > bytes) holes_[address + bytes] = length - bytes;
      return address;
    }
    return nullptr;
  }

  bool grow(int device, std::size_t bytes) {
    const std::size_t length = round_up(bytes, kRegion);
    void* chunk = take_memory(device, length);
    if (!chunk) trim(0);
    if (!chunk) chunk = take_memory(device, length);
    if (!chunk) return false;
    chunks_[static_cast<char*>(chunk)] = length;
    holes_[static_cast<char*>(chunk)] = length;
    reserved_most = std::max(reserved_most, reserved += length);
    return true;
  }

  /// Neighbours join, but not across chunks.
  void free_range(char* address, std::size_t length) {
    auto next = holes_.lower_bound(address);
    if (next != holes_.end() && next->first == address + length && !chunks_.count(next->first)) {
      length += next->second;
      next = holes_.erase(next);
    }
    if (next != holes_.begin() && !chunks_.count(address)) {
      const auto last = std::prev(next);
      if (last->first + last->second == address) {
        last->second += length;
        return;
      }
    }
    holes_[address] = length;
  }

  std::map<char*, std::size_t> holes_, chunks_;
  std::unordered_map<char*, std::size_t> pieces_;
};
std::mutex& guard = *new std::mutex;
Pool* const pools = new Pool[kLedgerDevices];

std::uint64_t* field(Pool& pool, int attribute) {
  switch (attribute) {
    case release_threshold: return &pool.threshold;
    case reserved_current: return &pool.reserved;
    case reserved_high: return &pool.reserved_most;
    case used_current: return &pool.used;
    case used_high: return &pool.used_most;
    default: return nullptr;
  }
}

}  // namespace

PHANTOM_ENTRY int cudaMallocAsync(void** address, std::size_t bytes, void*) {
  const int device = current_device();
  *address = nullptr;
  if (bytes == 0) return runtime_success;
  note("estimated",
       "reserved memory of cudaMallocAsync's pools: the driver does not document how they grow");
  const std::lock_guard<std::mutex> lock(guard);
  *address = pools[device].take(device, round_up(bytes, kUnit));
  return *address ? runtime_success : failed(runtime_out_of_memory);
}

PHANTOM_ENTRY int cudaFreeAsync(void* address, void*) {
  const std::lock_guard<std::mutex> lock(guard);
  for (Pool* pool = pools; pool != pools + kLedgerDevices; ++pool)
    if (pool->give(static_cast<char*>(address))) return runtime_success;
  return !address || give_memory(address) ? runtime_success : failed(runtime_invalid_value);
}

PHANTOM_ENTRY int cudaMemPoolTrimTo(void* pool, std::size_t keep) {
  const std::lock_guard<std::mutex> lock(guard);
  static_cast<Pool*>(pool)->trim(keep);
  return runtime_success;
}

PHANTOM_ENTRY int cudaDeviceGetDefaultMemPool(void** pool, int device) {
  if (!is_device(device)) return failed(runtime_invalid_device);
  *pool = &pools[device];
  return runtime_success;
}

PHANTOM_ENTRY int cudaMemPoolGetAttribute(void* pool, int attribute, void* value) {
  const std::lock_guard<std::mutex> lock(guard);
  const std::uint64_t* of = field(*static_cast<Pool*>(pool), attribute);
  if (of)
    *static_cast<std::uint64_t*>(value) = *of;
  else
    *static_cast<int*>(value) = 1;  // the reuse policies are on
  return runtime_success;
}

PHANTOM_ENTRY int cudaMemPoolSetAttribute(void* handle, int attribute, void* value) {
  const std::lock_guard<std::mutex> lock(guard);
  Pool& pool = *static_cast<Pool*>(handle);
  if (attribute == release_threshold) pool.threshold = *static_cast<std::uint64_t*>(value);
  if (attribute == reserved_high) pool.reserved_most = pool.reserved;  // may only be reset
  if (attribute == used_high) pool.used_most = pool.used;
  return runtime_success;
}
