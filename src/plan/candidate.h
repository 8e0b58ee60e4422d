// SPDX-License-Identifier: Apache-2.0
// Candidate: one point of a framework's space, as numbers. It is small, because there are tens of
// thousands.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "workload/framework.h"
#include "workload/step_choices.h"

namespace memtape::plan {

/// What a plan decides, under the names of the options.
enum class Axis : std::uint8_t {
  tp,
  cp,
  pp,
  vpp,
  ep,
  etp,
  dp,
  zero,
  micro_batch,
  checkpointing,
  method,
  sharding,
  offload,
  optim,
  modules,
  layers
};
constexpr std::size_t kAxes = 16;

/// The option that fixes an axis: "micro-batch-size".
std::string_view option_of(Axis axis);

/// Which part of the model is trained.
enum class Method : std::uint8_t { full, lora, qlora };
/// How the data parallel ranks share parameters, gradients and optimizer states. `fsdp` lets whole
/// gradients of several micro-batches wait for the step's last one; `reduced_each` reduces each.
enum class Sharding : std::uint8_t { none, ddp, fsdp, hybrid, grads_kept, reduced_each };
enum class Offload : std::uint8_t { none, optimizer, all };
enum class Optim : std::uint8_t { adamw, adamw_8bit };

struct Sizes {
  std::int64_t gpus = 1, dp = 1, tp = 1, cp = 1, pp = 1, vpp = 1, ep = 1, etp = 1, zero = 0;
  /// Sequences of one micro-batch, and micro-batches of a step.
  std::int64_t micro_batch = 1, micro_batches = 1;
};

struct Candidate {
  const Framework* framework = nullptr;
  Sizes sizes;
  Checkpointing checkpointing = Checkpointing::none;
  /// What selective recomputation makes again, "layernorm,moe_act"; "": what it does if not told.
  std::string_view modules;
  /// Full recomputation makes the first of so many layers of a stage again, or of each of its
  /// virtual stages, and the others keep all. 0: it makes all again.
  std::int64_t layers_again = 0;
  Method method = Method::full;
  Sharding sharding = Sharding::none;
  Offload offload = Offload::none;
  Optim optim = Optim::adamw;
  double seconds = 0.0;  ///< a rough estimate, which gives the order in which plans are looked at
};

/// A choice as a value of its axis.
template <class Choice>
std::int64_t number(Choice choice) {
  return static_cast<std::int64_t>(choice);
}

std::string_view name(Method method);
std::string_view name(Sharding sharding);
std::string_view name(Offload offload);
std::string_view name(Optim optim);

/// So many micro-batches show what a step of all of them needs: three rounds of the pipeline, or
/// more of a short one. Nothing where that would save less than half.
std::optional<std::int64_t> telling_micro_batches(const Sizes& sizes);

/// Whether `a` needs no less memory than `b` for certain: it has the same layout with larger
/// micro-batches, or it recomputes less.
bool needs_no_less(const Candidate& a, const Candidate& b);

/// "tp 8 · pp 16 · dp 128 · mbs 1 x 16 · full recompute"
std::string in_words(const Candidate& candidate);

}  // namespace memtape::plan
