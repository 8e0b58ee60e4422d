// SPDX-License-Identifier: Apache-2.0
// Category and Phase: what a block of memory is for, and when in the step it was taken.
// The names are the torch profiler's own (torch/profiler/_memory_profiler.py) plus what it lacks.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>
#include <string_view>

#include "base/bytes.h"

namespace memtape {

enum class Category : std::uint8_t {
  parameter,
  buffer,
  optimizer_state,
  gradient,
  activation,
  input,
  temporary,
  autograd_detail,
  kv_cache,
  communication,
  workspace,
  cuda_graph,
  context,
  unknown,
};
inline constexpr std::size_t kCategories = 14;
inline constexpr std::array<std::string_view, kCategories> kCategoryNames{
    "parameter", "buffer",     "optimizer_state", "gradient", "activation",
    "input",     "temporary",  "autograd_detail", "kv_cache", "communication",
    "workspace", "cuda_graph", "context",         "unknown"};

constexpr std::string_view name(Category c) { return kCategoryNames[static_cast<std::size_t>(c)]; }

/// Trainer distinguishes its clipping, its fetching of batches, its zero_grad and its evaluation.
/// The forwards and backwards of a pipeline are reported together as its schedule.
enum class Phase : std::uint8_t {
  init,
  forward,
  backward,
  optimizer,
  prepare,
  clip,
  zero_grad,
  schedule,
  evaluation
};
inline constexpr std::size_t kPhases = 9;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames{
    "init", "forward",   "backward", "optimizer", "prepare",
    "clip", "zero_grad", "schedule", "evaluation"};

constexpr std::string_view name(Phase p) { return kPhaseNames[static_cast<std::size_t>(p)]; }

/// What a block is to those who ask how far a peak may be off: set by the op that makes it, so that
/// an op may be renamed without changing an answer.
enum class Role : std::uint8_t {
  none,
  flash_backward,  ///< made by flash attention's backward: cuDNN's would take a workspace instead
  convolution,     ///< made by a convolution of cuDNN's, which chooses its workspace itself
};

/// Bytes per category; `total` is what a breakdown must sum to.
struct CategoryBytes {
  std::array<Bytes, kCategories> bytes{};

  Bytes& operator[](Category c) { return bytes[static_cast<std::size_t>(c)]; }
  Bytes operator[](Category c) const { return bytes[static_cast<std::size_t>(c)]; }
  Bytes total() const { return std::accumulate(bytes.begin(), bytes.end(), Bytes{0}); }
};

}  // namespace memtape
