// SPDX-License-Identifier: Apache-2.0
// NCCL: every collective succeeds at once, so one process can play one rank of many: all others are
// taken to hold what this one holds, as far as that is known (core/transfers.h). What NCCL itself
// would take on the device is computed (buffers.h) and reported apart.
#include <cstring>
#include <string>

#include "core/devices.h"
#include "core/export.h"
#include "core/ledger.h"
#include "core/settings.h"
#include "core/transfers.h"
#include "libnccl/buffers.h"

using namespace memtape::phantom;

namespace {

enum Status : int { done = 0, unhandled_cuda_error = 1, invalid_argument = 4 };

constexpr int kVersion = 22809;

struct Communicator {
  int rank, ranks, device;
};
struct UniqueId {
  char bytes[128];
};

Communicator& communicator(const void* handle) {
  return *static_cast<Communicator*>(const_cast<void*>(handle));
}

int make(void** made, int ranks, int rank) {
  const int device = current_device();
  *made = new Communicator{rank, ranks, device};
  const std::int64_t bytes = ring_buffer_bytes(ranks);
  ledger().devices[settings().visible[static_cast<std::size_t>(device)]].nccl.fetch_add(bytes);
  note("communicator", "rank " + std::to_string(rank) + " of " + std::to_string(ranks));
  return done;
}

int close(void* made) {
  if (!made) return done;
  const Communicator& c = communicator(made);
  ledger().devices[settings().visible[static_cast<std::size_t>(c.device)]].nccl.fetch_sub(
      ring_buffer_bytes(c.ranks));
  delete &c;
  return done;
}

/// ncclDataType_t by number: int8, uint8, int32, uint32, int64, uint64, fp16, fp32, fp64, bf16, two
/// kinds of fp8.
std::size_t bytes_of(std::size_t count, int type) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return type >= 0 && type < 12 ? count * kBytes[type] : 0;
}

int same(void* to, const void* from, std::size_t bytes) {
  if (to != from) copy(to, from, bytes);
  return done;
}

}  // namespace

PHANTOM_ENTRY int ncclAllGather(const void* from, void* to, std::size_t count, int type, void* comm,
                                void*) {
  const std::size_t bytes = bytes_of(count, type);
  for (int rank = 0; rank < communicator(comm).ranks; ++rank) {
    char* place = static_cast<char*>(to) + static_cast<std::size_t>(rank) * bytes;
    if (place != from) copy(place, from, bytes);
  }
  return done;
}
PHANTOM_ENTRY int ncclBroadcast(const void* from, void* to, std::size_t count, int type, int, void*,
                                void*) {
  return same(to, from, bytes_of(count, type));
}
PHANTOM_ENTRY int ncclAllReduce(const void* from, void* to, std::size_t count, int type, int, void*,
                                void*) {
  return same(to, from, bytes_of(count, type));
}

PHANTOM_ENTRY int ncclGetVersion(int* version) {
  *version = kVersion;
  return done;
}
PHANTOM_ENTRY int ncclGetUniqueId(void* id) {
  std::memset(id, 0, sizeof(UniqueId));
  return done;
}
PHANTOM_ENTRY int ncclCommInitRank(void** made, int ranks, UniqueId, int rank) {
  return make(made, ranks, rank);
}
PHANTOM_ENTRY int ncclCommInitRankConfig(void** made, int ranks, UniqueId, int rank, void*) {
  return make(made, ranks, rank);
}
PHANTOM_ENTRY int ncclCommInitRankScalable(void** made, int ranks, int rank, int, void*, void*) {
  return make(made, ranks, rank);
}
PHANTOM_ENTRY int ncclCommInitAll(void** made, int count, const int*) {
  for (int i = 0; i < count; ++i) make(made + i, count, i);
  return done;
}
/// How many ranks share the colour is not told to the caller alone; the parent's size is the most
/// it can be.
PHANTOM_ENTRY int ncclCommSplit(void* parent, int colour, int key, void** made, void*) {
  *made = nullptr;
  return colour < 0 ? done : make(made, communicator(parent).ranks, key);
}
PHANTOM_ENTRY int ncclCommShrink(void* parent, int*, int excluded, void** made, void*, int) {
  return make(made, communicator(parent).ranks - excluded, communicator(parent).rank);
}
PHANTOM_ENTRY int ncclCommDestroy(void* made) { return close(made); }
PHANTOM_ENTRY int ncclCommAbort(void* made) { return close(made); }
PHANTOM_ENTRY int ncclCommCount(const void* made, int* ranks) {
  *ranks = communicator(made).ranks;
  return done;
}
PHANTOM_ENTRY int ncclCommUserRank(const void* made, int* rank) {
  *rank = communicator(made).rank;
  return done;
}
PHANTOM_ENTRY int ncclCommCuDevice(const void* made, int* device) {
  *device = communicator(made).device;
  return done;
}
PHANTOM_ENTRY int ncclCommGetAsyncError(void*, int* error) {
  *error = done;
  return done;
}
PHANTOM_ENTRY int ncclCommRegister(const void*, void* buffer, std::size_t, void** handle) {
  *handle = buffer;
  return done;
}
PHANTOM_ENTRY int ncclCommWindowRegister(void*, void* buffer, std::size_t, void** window, int) {
  *window = buffer;
  return done;
}
PHANTOM_ENTRY int ncclRedOpCreatePreMulSum(int* op, void*, int, int, void*) {
  *op = 5;  // the first number behind the built-in operations
  return done;
}
PHANTOM_ENTRY int ncclMemAlloc(void** address, std::size_t bytes) {
  *address = take_memory(current_device(), bytes);
  return *address ? done : unhandled_cuda_error;
}
PHANTOM_ENTRY int ncclMemFree(void* address) {
  return !address || give_memory(address) ? done : invalid_argument;
}
PHANTOM_ENTRY const char* ncclGetErrorString(int status) {
  return status == done ? "no error" : "unhandled cuda error";
}
PHANTOM_ENTRY const char* ncclGetLastError(void*) { return ""; }
