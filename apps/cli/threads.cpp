// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

namespace memtape::cli {
namespace {

/// Each holds what a piece of work needs: more would take memory rather than time.
constexpr std::size_t kMost = 16;

}  // namespace

Workers threads() {
  const std::size_t count = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMost);
  const auto share = [count](std::size_t pieces, const Workers::Work& work) {
    std::atomic<std::size_t> next = 0;
    const auto run = [&](std::size_t worker) {
      for (std::size_t piece = next++; piece < pieces; piece = next++) work(worker, piece);
    };
    std::vector<std::jthread> others;
    try {
      for (std::size_t worker = 1; worker < std::min(count, pieces); ++worker)
        others.emplace_back(run, worker);
    } catch (const std::system_error&) {  // the system has no more threads: those that run do it
    }
    run(0);
  };
  return {count, share};
}

}  // namespace memtape::cli
