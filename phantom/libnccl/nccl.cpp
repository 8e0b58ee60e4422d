// SPDX-License-Identifier: Apache-2.0
// NCCL: every collective succeeds at once and moves nothing, so one process can play one rank of many. What NCCL itself would take
// on the device is computed (buffers.h) and reported apart.
#include <cstring>
#include <string>

#include "core/devices.h"
#include "core/export.h"
#include "core/ledger.h"
#include "core/settings.h"
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

Communicator& communicator(const void* handle) { return *static_cast<Communicator*>(const_cast<void*>(handle)); }

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
  ledger().devices[settings().visible[static_cast<std::size_t>(c.device)]].nccl.fetch_sub(ring_buffer_bytes(c.ranks));
  delete &c;
  return done;
}

}  // namespace

PHANTOM_ENTRY int ncclGetVersion(int* version) {
  *version = kVersion;
  return done;
}
PHANTOM_ENTRY int ncclGetUniqueId(void* id) {
  std::memset(id, 0, sizeof(UniqueId));
  return done;
}
PHANTOM_ENTRY int ncclCommInitRank(void** made, int ranks, UniqueId, int rank) { return make(made, ranks, rank); }
PHANTOM_ENTRY int ncclCommInitRankConfig(void** made, int ranks, UniqueId, int rank, void*) { return make(made, ranks, rank); }
PHANTOM_ENTRY int ncclCommInitRankScalable(void** made, int ranks, int rank, int, void*, void*) {
  return make(made, ranks, rank);
}
PHANTOM_ENTRY int ncclCommInitAll(void** made, int count, const int*) {
  for (int i = 0; i < count; ++i) make(made + i, count, i);
  return done;
}
/// How many ranks share the colour is not told to the caller alone; the parent's size is the most it can be.
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
PHANTOM_ENTRY int ncclMemFree(void* address) { return !address || give_memory(address) ? done : invalid_argument; }
PHANTOM_ENTRY const char* ncclGetErrorString(int status) { return status == done ? "no error" : "unhandled cuda error"; }
PHANTOM_ENTRY const char* ncclGetLastError(void*) { return ""; }
