// SPDX-License-Identifier: Apache-2.0
// What the stand-ins add to a call: those that a training step makes by the thousand. Set
// MEMTAPE_PHANTOM_TOTAL (bytes of the device) in the environment.
#include <cstddef>

#include <benchmark/benchmark.h>

extern "C" {
struct Dim3 {
  unsigned x, y, z;
};
int cudaLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void*);
int cudaGetDevice(int*);
int cudaGetLastError();
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaMalloc(void**, std::size_t);
int cudaFree(void*);
int cudaEventCreate(void**);
int cudaEventRecord(void*, void*);
int cudaEventQuery(void*);
int cudaStreamIsCapturing(void*, int*);
}

namespace {

constexpr std::size_t kSegment = std::size_t{20} << 20;
constexpr int kOnDevice = 3;

void launch(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(cudaLaunchKernel(nullptr, {1, 1, 1}, {32, 1, 1}, nullptr, 0, nullptr));
}
BENCHMARK(launch);

void ask_device_and_error(benchmark::State& state) {
  int device = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(cudaGetDevice(&device));
    benchmark::DoNotOptimize(cudaGetLastError());
  }
}
BENCHMARK(ask_device_and_error);

void ask_capturing(benchmark::State& state) {
  int status = 0;
  for (auto _ : state) benchmark::DoNotOptimize(cudaStreamIsCapturing(nullptr, &status));
}
BENCHMARK(ask_capturing);

void copy_on_device(benchmark::State& state) {
  void* at = nullptr;
  cudaMalloc(&at, kSegment);
  auto* bytes = static_cast<char*>(at);
  for (auto _ : state)
    benchmark::DoNotOptimize(cudaMemcpyAsync(bytes, bytes + 4096, 4096, kOnDevice, nullptr));
  cudaFree(at);
}
BENCHMARK(copy_on_device);

void record_and_query_event(benchmark::State& state) {
  void* event = nullptr;
  cudaEventCreate(&event);
  for (auto _ : state) {
    benchmark::DoNotOptimize(cudaEventRecord(event, nullptr));
    benchmark::DoNotOptimize(cudaEventQuery(event));
  }
}
BENCHMARK(record_and_query_event);

void take_and_return_a_segment(benchmark::State& state) {
  for (auto _ : state) {
    void* at = nullptr;
    benchmark::DoNotOptimize(cudaMalloc(&at, kSegment));
    benchmark::DoNotOptimize(cudaFree(at));
  }
}
BENCHMARK(take_and_return_a_segment);

}  // namespace
