// SPDX-License-Identifier: Apache-2.0
// What one report spends on words: numbers as people read them, and the nearest name to a typo.
#include <array>

#include <benchmark/benchmark.h>

#include "base/text.h"

namespace memtape {
namespace {

void human_bytes_of_a_gib(benchmark::State& state) {
  Bytes bytes = 12'345'678'901;
  for (auto _ : state) benchmark::DoNotOptimize(human_bytes(bytes));
}
BENCHMARK(human_bytes_of_a_gib);

void nearest_of_200_names(benchmark::State& state) {
  std::array<std::string_view, 200> names;
  names.fill("meta-llama/Llama-3.1-8B-Instruct");
  for (auto _ : state) benchmark::DoNotOptimize(nearest("meta-llama/Lama-3.1-8B", names));
}
BENCHMARK(nearest_of_200_names);

}  // namespace
}  // namespace memtape
