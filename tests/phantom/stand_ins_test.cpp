// SPDX-License-Identifier: Apache-2.0
// The stand-ins as a C program sees them: a GPU of 1 GiB (64 MiB of it context), compute
// capability 8.0, and a second one.
#include <cstddef>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
int cudaGetDeviceCount(int*);
int cudaDeviceGetAttribute(int*, int, int);
int cudaMalloc(void**, std::size_t);
int cudaFree(void*);
int cudaMemGetInfo(std::size_t*, std::size_t*);
int cudaGetLastError();
int cudaMemcpy(void*, const void*, std::size_t, int);
int cudaHostAlloc(void**, std::size_t, unsigned);
int cudaFreeHost(void*);
int cudaStreamCreate(void**);
int cudaStreamDestroy(void*);
int cudaStreamBeginCapture(void*, int);
int cudaStreamEndCapture(void*, void**);
int cudaStreamIsCapturing(void*, int*);
int cudaStreamWaitEvent(void*, void*, unsigned);
int cudaEventCreate(void**);
int cudaEventRecord(void*, void*);
int cudaEventQuery(void*);
int cudaEventDestroy(void*);
int cudaMallocAsync(void**, std::size_t, void*);
int cudaFreeAsync(void*, void*);
int cudaDeviceGetDefaultMemPool(void**, int);
int cudaMemPoolGetAttribute(void*, int, void*);
int cudaIpcGetMemHandle(void*, void*);
int cudaMemsetAsync(void*, int, std::size_t, void*);
int cudaGetDriverEntryPoint(const char*, void**, unsigned long long, int*);
int cuMemAddressReserve(unsigned long long*, std::size_t, std::size_t, unsigned long long,
                        unsigned long long);
int cuMemCreate(unsigned long long*, std::size_t, const void*, unsigned long long);
int cuMemMap(unsigned long long, std::size_t, std::size_t, unsigned long long, unsigned long long);
int cuMemUnmap(unsigned long long, std::size_t);
int cuMemRelease(unsigned long long);
int cufftXtMakePlanMany(int, int, long long*, long long*, long long, long long, int, long long*,
                        long long, long long, int, long long, std::size_t*, int);
int cusolverDnXpotrf_bufferSize(void*, void*, int, long, int, const void*, long, int, std::size_t*,
                                std::size_t*);
struct NcclId {
  char bytes[128];
};
int ncclCommInitRank(void**, int, NcclId, int);
int ncclCommDestroy(void*);
int ncclAllGather(const void*, void*, std::size_t, int, void*, void*);
int nvmlDeviceGetHandleByIndex_v2(unsigned, void**);
int nvmlDeviceGetMemoryInfo(void*, unsigned long long*);
}

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr int kOutOfMemory = 2, kNotSupported = 801, kToDevice = 1, kToHost = 2;

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), 0);
  EXPECT_EQ(total, 1024 * kMiB);
  return free;
}

char* take(std::size_t bytes) {
  void* at = nullptr;
  EXPECT_EQ(cudaMalloc(&at, bytes), 0);
  return static_cast<char*>(at);
}

TEST(Devices, AreThoseOfTheSettings) {
  int count = 0, sms = 0, major = 0, bus = 0;
  EXPECT_EQ(cudaGetDeviceCount(&count), 0);
  EXPECT_EQ(count, 2);
  cudaDeviceGetAttribute(&sms, 16, 0);
  cudaDeviceGetAttribute(&major, 75, 0);
  cudaDeviceGetAttribute(&bus, 33, 0);
  EXPECT_EQ(sms, 108);
  EXPECT_EQ(major, 8);
  EXPECT_EQ(bus, 2) << "CUDA_VISIBLE_DEVICES puts GPU 1 first";
}

TEST(Memory, IsTakenInPagesOfTwoMiB) {
  const std::size_t before = free_bytes();
  EXPECT_LE(before, 960 * kMiB);
  char* at = take(1);
  EXPECT_EQ(free_bytes(), before - 2 * kMiB);
  EXPECT_EQ(cudaFree(at), 0);
  EXPECT_EQ(free_bytes(), before);
}

TEST(Memory, RunsOutWhereTheDeviceDoes) {
  char* most = take(free_bytes());
  void* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 1), kOutOfMemory);
  EXPECT_EQ(more, nullptr);
  EXPECT_EQ(cudaGetLastError(), kOutOfMemory);
  EXPECT_EQ(cudaGetLastError(), 0) << "reading the error clears it";
  cudaFree(most);
  cudaFree(take(1));
}

/// A region of 32 MiB at the top; then the lowest hole that is large enough.
TEST(Memory, LiesWhereTheDriverPutsIt) {
  char* a = take(20 * kMiB);
  char* b = take(10 * kMiB);
  char* c = take(20 * kMiB);
  EXPECT_EQ(b, a + 20 * kMiB) << "the rest of a's region";
  EXPECT_EQ(c, a - 32 * kMiB) << "a new region below";
  cudaFree(a);
  char* d = take(4 * kMiB);
  EXPECT_EQ(d, c + 20 * kMiB) << "the lowest hole, not the one that is free since last";
  for (char* at : {b, c, d}) cudaFree(at);
}

TEST(Memory, FreeingWhatWasNeverTakenIsAnError) {
  int local = 0;
  EXPECT_NE(cudaFree(&local), 0);
  EXPECT_EQ(cudaFree(nullptr), 0);
  cudaGetLastError();
}

TEST(Values, WhatTheHostSentComesBackUntilAKernelRuns) {
  char* at = take(4096);
  const char sent[4] = {1, 2, 3, 4};
  char read[4] = {};
  cudaMemcpy(at, sent, sizeof sent, kToDevice);
  cudaMemcpy(read, at, sizeof read, kToHost);
  EXPECT_EQ(std::memcmp(sent, read, sizeof sent), 0);
  cudaMemsetAsync(at + 2048, 0, 16, nullptr);
  cudaMemcpy(read, at, sizeof read, kToHost);
  EXPECT_EQ(read[0] + read[1] + read[2] + read[3], 0);
  cudaMemcpy(read, at, 1, kToHost);
  EXPECT_EQ(read[0], 1) << "a lone byte is true";
  cudaFree(at);
}

TEST(Values, ACopyOnTheDeviceCarriesWhatIsKnown) {
  char *a = take(4096), *b = take(4096);
  const int sent = 12345;
  int read = 0;
  cudaMemcpy(a, &sent, sizeof sent, kToDevice);
  cudaMemcpy(b, a, sizeof sent, 3);
  cudaMemcpy(&read, b, sizeof read, kToHost);
  EXPECT_EQ(read, sent);
  cudaFree(a);
  cudaFree(b);
}

TEST(HostMemory, IsReal) {
  void* at = nullptr;
  ASSERT_EQ(cudaHostAlloc(&at, 100, 0), 0);
  std::memset(at, 7, 100);
  EXPECT_EQ(cudaFreeHost(at), 0);
  EXPECT_NE(cudaFreeHost(at), 0);
  cudaGetLastError();
}

TEST(Capture, IsJoinedThroughAnEventAndLeftAtItsEnd) {
  void *first = nullptr, *second = nullptr, *event = nullptr, *graph = nullptr;
  cudaStreamCreate(&first);
  cudaStreamCreate(&second);
  cudaEventCreate(&event);
  const auto capturing = [](void* stream) {
    int status = -1;
    cudaStreamIsCapturing(stream, &status);
    return status == 1;
  };
  cudaStreamBeginCapture(first, 0);
  EXPECT_FALSE(capturing(second));
  cudaEventRecord(event, first);
  cudaStreamWaitEvent(second, event, 0);
  EXPECT_TRUE(capturing(second));
  cudaStreamEndCapture(first, &graph);
  EXPECT_FALSE(capturing(first));
  EXPECT_FALSE(capturing(second));
  EXPECT_EQ(cudaEventQuery(event), 0);
  cudaEventDestroy(event);
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

TEST(VirtualMemory, CountsWhatIsCreatedUntilItIsReleasedAndUnmapped) {
  const std::size_t before = free_bytes();
  unsigned long long address = 0, handle = 0;
  EXPECT_EQ(cuMemAddressReserve(&address, 256 * kMiB, 0, 0, 0), 0);
  EXPECT_EQ(free_bytes(), before) << "addresses alone cost nothing";
  EXPECT_EQ(cuMemCreate(&handle, 20 * kMiB, nullptr, 0), 0);
  EXPECT_EQ(free_bytes(), before - 20 * kMiB);
  EXPECT_EQ(cuMemMap(address, 20 * kMiB, 0, handle, 0), 0);
  EXPECT_EQ(cuMemRelease(handle), 0);
  EXPECT_EQ(free_bytes(), before - 20 * kMiB) << "the mapping keeps it";
  EXPECT_EQ(cuMemUnmap(address, 20 * kMiB), 0);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(cuMemCreate(&handle, 2048 * kMiB, nullptr, 0), kOutOfMemory);
}

TEST(MemoryPool, CountsWhatIsUsedAndWhatIsReserved) {
  void *pool = nullptr, *a = nullptr, *b = nullptr;
  unsigned long long used = 0, reserved = 0;
  cudaDeviceGetDefaultMemPool(&pool, 0);
  ASSERT_EQ(cudaMallocAsync(&a, 1000, nullptr), 0);
  ASSERT_EQ(cudaMallocAsync(&b, 1000, nullptr), 0);
  cudaMemPoolGetAttribute(pool, 7, &used);
  cudaMemPoolGetAttribute(pool, 5, &reserved);
  EXPECT_EQ(used, 2048u);
  EXPECT_EQ(reserved, 32 * kMiB);
  EXPECT_EQ(cudaFreeAsync(a, nullptr), 0);
  EXPECT_EQ(cudaFreeAsync(b, nullptr), 0);
  cudaMemPoolGetAttribute(pool, 7, &used);
  EXPECT_EQ(used, 0u);
}

TEST(Unwritten, CallsThatNobodyWroteFailAsUnsupported) {
  char handle[64];
  EXPECT_EQ(cudaIpcGetMemHandle(handle, nullptr), kNotSupported);
}

TEST(Unwritten, SizesAreAnsweredWithZeroAtTheirPlaces) {
  std::size_t work = 7, on_host = 7;
  EXPECT_EQ(cufftXtMakePlanMany(0, 1, nullptr, nullptr, 1, 1, 4, nullptr, 1, 1, 4, 1, &work, 4), 0);
  EXPECT_EQ(work, 0u);
  work = 7;
  EXPECT_EQ(cusolverDnXpotrf_bufferSize(nullptr, nullptr, 0, 8, 0, nullptr, 8, 0, &work, &on_host),
            0);
  EXPECT_EQ(work, 0u);
  EXPECT_EQ(on_host, 0u);
}

TEST(EntryPoints, TheDriverIsFoundByName) {
  void* function = nullptr;
  int result = -1;
  EXPECT_EQ(cudaGetDriverEntryPoint("cuMemAddressReserve", &function, 0, &result), 0);
  EXPECT_EQ(function, reinterpret_cast<void*>(&cuMemAddressReserve));
  cudaGetDriverEntryPoint("cuNoSuchFunction", &function, 0, &result);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(result, 1);
}

TEST(Nccl, EveryRankHoldsWhatThisOneHolds) {
  void* comm = nullptr;
  ASSERT_EQ(ncclCommInitRank(&comm, 4, {}, 2), 0);
  char *from = take(4096), *to = take(4096);
  const int mine = 42;
  int all[4] = {};
  cudaMemcpy(from, &mine, sizeof mine, kToDevice);
  EXPECT_EQ(ncclAllGather(from, to, 1, 2, comm, nullptr), 0);
  cudaMemcpy(all, to, sizeof(int), kToHost);
  cudaMemcpy(all + 3, to + 3 * sizeof(int), sizeof(int), kToHost);
  EXPECT_EQ(all[0], mine);
  EXPECT_EQ(all[3], mine);
  cudaFree(from);
  cudaFree(to);
  EXPECT_EQ(ncclCommDestroy(comm), 0);
}

TEST(Nvml, SeesWhatIsUsed) {
  void* gpu = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(1, &gpu), 0);
  char* at = take(20 * kMiB);
  unsigned long long memory[3] = {};
  nvmlDeviceGetMemoryInfo(gpu, memory);
  EXPECT_EQ(memory[0], 1024 * kMiB);
  EXPECT_EQ(memory[1], free_bytes());
  EXPECT_EQ(memory[2], 1024 * kMiB - free_bytes());
  cudaFree(at);
}

}  // namespace
