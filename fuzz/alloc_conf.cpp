// SPDX-License-Identifier: Apache-2.0
// PYTORCH_CUDA_ALLOC_CONF of any bytes: it is refused, or an allocator works under it and ends
// empty.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "allocator/caching_allocator.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace memtape;
  const auto config = AllocatorConfig::parse({reinterpret_cast<const char*>(data), size});
  if (!config) return 0;
  const auto driver =
      make_driver(DriverPlacement::linux_regions, {.total = 300_MiB, .outside = 10_MiB});
  CachingAllocator allocator(*driver, *config);
  std::vector<Block*> live;
  for (const Bytes bytes : {1_KiB, 3_MiB, 25_MiB, 70_MiB, 500_KiB, 70_MiB, 90_MiB, 130_MiB}) {
    Block* block = allocator.malloc(bytes);
    if (block && block->size < bytes) std::abort();
    if (block) live.push_back(block);
    if (live.size() > 2) {
      allocator.free(live.front());
      live.erase(live.begin());
    }
  }
  for (Block* block : live) allocator.free(block);
  allocator.empty_cache();
  if (allocator.reserved() != 0 || driver->used() != 0) std::abort();
  return 0;
}
