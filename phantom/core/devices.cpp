// SPDX-License-Identifier: Apache-2.0
#include "core/devices.h"

#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

#include "core/address_space.h"
#include "core/ledger.h"
#include "core/settings.h"

namespace memtape::phantom {
namespace {

constexpr std::size_t kSmallestSpan = std::size_t{1} << 40, kLargestSpan = std::size_t{1} << 45;

/// One device: its addresses are a range of the process's own that nothing else can get.
class Device {
 public:
  explicit Device(int number) : gpu_(settings().visible[static_cast<std::size_t>(number)]) {}

  int gpu() const { return gpu_; }
  bool opened() const { return base_ != nullptr; }
  char* base() const { return base_; }
  bool holds(const void* address) const {
    const char* at = static_cast<const char*>(address);
    return base_ && at >= base_ && at < base_ + span_;
  }
  std::size_t offset(const void* address) const {
    return static_cast<std::size_t>(static_cast<const char*>(address) - base_);
  }

  /// First use: a context, and addresses. With backing, pages come into being when they are
  /// written.
  AddressSpace& open() {
    if (space_) return *space_;
    span_ = std::clamp(round_up(settings().total, kRegion) * 16, kSmallestSpan, kLargestSpan);
    const int access = settings().backing ? PROT_READ | PROT_WRITE : PROT_NONE;
    void* at =
        mmap(nullptr, span_ + kRegion, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      note("failed", "no address space for a device");
      span_ = 0;
    } else {
      base_ = reinterpret_cast<char*>(round_up(reinterpret_cast<std::size_t>(at), kRegion));
    }
    space_ = std::make_unique<AddressSpace>(span_, settings().first_fit);
    line().context.store(static_cast<std::int64_t>(settings().context));
    raise_gpu_peak(gpu_);
    return *space_;
  }

  LedgerDevice& line() const { return ledger().devices[gpu_]; }

  /// Whether `bytes` more fit; if so they are taken.
  bool count(std::size_t bytes) {
    open();
    const auto more = static_cast<std::int64_t>(bytes);
    if (used_of_gpu(gpu_) + more > static_cast<std::int64_t>(settings().total)) {
      line().refused.fetch_add(1);
      raise(line().largest_refused, more);
      return false;
    }
    raise(line().peak, line().used.fetch_add(more) + more);
    raise_gpu_peak(gpu_);
    return true;
  }
  void uncount(std::size_t bytes) { line().used.fetch_sub(static_cast<std::int64_t>(bytes)); }

 private:
  int gpu_;
  char* base_ = nullptr;
  std::size_t span_ = 0;
  std::unique_ptr<AddressSpace> space_;
};

// Never destroyed: programs free device memory while they exit.
std::mutex& guard = *new std::mutex;
std::vector<Device>& devices() {
  static auto& all = *[] {
    auto* made = new std::vector<Device>;
    for (int i = 0; i < settings().devices(); ++i) made->emplace_back(i);
    return made;
  }();
  return all;
}
Device& device(int number) { return devices()[static_cast<std::size_t>(number)]; }

Device* holder(const void* address) {
  for (Device& d : devices())
    if (d.holds(address)) return &d;
  return nullptr;
}

thread_local int current = 0;

}  // namespace

int current_device() { return current; }
void set_current_device(int number) { current = number; }
bool is_device(int number) { return number >= 0 && number < settings().devices(); }

void* take_memory(int number, std::size_t bytes) {
  const std::size_t size = round_up(bytes, kPage);
  const std::lock_guard<std::mutex> lock(guard);
  if (size < bytes || !is_device(number)) return nullptr;
  Device& d = device(number);
  if (!d.count(size)) return nullptr;
  const std::optional<std::size_t> offset = d.open().take(size);
  if (!offset) {
    d.uncount(size);
    return nullptr;
  }
  return d.base() + *offset;
}

bool give_memory(void* address) {
  const std::lock_guard<std::mutex> lock(guard);
  Device* d = holder(address);
  if (!d) return false;
  const std::optional<std::size_t> size = d->open().give(d->offset(address));
  if (!size) return false;
  d->uncount(*size);
  if (settings().backing) madvise(address, *size, MADV_DONTNEED);
  return true;
}

MemoryInfo memory_info(int number) {
  const std::lock_guard<std::mutex> lock(guard);
  Device& d = device(number);
  d.open();
  const std::int64_t total = static_cast<std::int64_t>(settings().total);
  return {static_cast<std::size_t>(std::max<std::int64_t>(total - used_of_gpu(d.gpu()), 0)),
          settings().total};
}

std::optional<int> device_of(const void* address) {
  for (int i = 0; i < settings().devices(); ++i)
    if (device(i).holds(address)) return i;
  return std::nullopt;
}

Allocation allocation_of(const void* address) {
  const std::lock_guard<std::mutex> lock(guard);
  Device* d = holder(address);
  if (!d) return {};
  const auto range = d->open().range_of(d->offset(address));
  return range ? Allocation{d->base() + range->first, range->second} : Allocation{};
}

void* reserve_addresses(int number, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(guard);
  Device& d = device(number);
  const std::optional<std::size_t> offset = d.open().reserve(bytes);
  return offset ? d.base() + *offset : nullptr;
}

void free_addresses(void* address) {
  const std::lock_guard<std::mutex> lock(guard);
  if (Device* d = holder(address)) d->open().unreserve(d->offset(address));
}

bool take_physical(int number, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(guard);
  return is_device(number) && device(number).count(bytes);
}

void give_physical(int number, std::size_t bytes) {
  const std::lock_guard<std::mutex> lock(guard);
  device(number).uncount(bytes);
}

}  // namespace memtape::phantom
