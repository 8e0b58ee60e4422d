// SPDX-License-Identifier: Apache-2.0
// Prediction: the answer of memtape as plain values, in the words of the JSON contract
// (docs/json.md, schema "memtape/1"). Every report (text, json, csv, html, snapshot) is a function
// of a Prediction and, if it draws time, of the Trace from which the Prediction was made.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "outcome/answer_parts.h"
#include "outcome/verdict_word.h"
#include "tape/category.h"
#include "tape/tape.h"
#include "timeline/timeline.h"

namespace memtape {

struct LargestTensor {
  Category category = Category::unknown;
  /// "model.layers.*.mlp": repeated layers are folded into one row with `count`.
  std::string module;
  std::string op;
  std::vector<std::int64_t> shape;
  std::string dtype;
  std::int64_t count = 1;
  Bytes bytes = 0;  ///< the sum over all `count` tensors, in the allocator
  std::string why;  ///< one sentence: "kept by MmBackward0 until the backward pass of ..."
};

struct PhaseReport {
  Phase phase = Phase::forward;
  Levels peak;
  CategoryBytes at_peak;
};

/// The moment of the step at which the peak lies.
struct PeakMoment {
  std::size_t event = 0;  ///< an index into the tape
  std::string module, op, node;
};

/// Memory that a process takes on the device and that the allocator does not know of. It is counted
/// if one figure is known, and is a range if only a range is known.
struct OutsideMemory {
  std::string what;         ///< "the CUDA context", "NCCL for tp of 8 ranks"
  Bytes counted_bytes = 0;  ///< the part that peak_device_bytes contains
  Bytes low_bytes = 0, high_bytes = 0;
  std::string source;
};

/// A forward or a backward of one micro-batch through one stage of the model.
struct Pass {
  Phase phase = Phase::forward;
  int stage = 0, micro_batch = 0;
};

struct RankReport {
  std::vector<int> ranks{0};
  int stage = 0;
  Bytes parameter_bytes = 0, buffer_bytes = 0, optimizer_state_bytes = 0, gradient_bytes = 0;
  Levels peak;
  Bytes peak_device_bytes = 0;  ///< the reserved peak and everything outside the allocator
  Phase peak_phase = Phase::forward;
  PeakMoment peak_moment;
  Levels steady;
  CategoryBytes at_peak;
  std::vector<PhaseReport> phases;  ///< the phases that the framework has, in order
  std::vector<LargestTensor> largest;
  std::vector<OutsideMemory> outside;
  std::vector<Pass> passes;  ///< what the rank runs in a step, in that order
};

/// Why the program does not fit: the step, phase, op and request at which the device runs out of
/// memory.
struct Failure {
  int step = 0;
  Phase phase = Phase::init;
  std::string module, op;
  std::vector<std::int64_t> shape;
  std::string dtype;
  Bytes requested = 0, segment = 0;
  Levels levels;
};

struct Prediction {
  std::string command = "train";
  std::string source = "predicted";  ///< or "recorded", if the real step was run (--real)
  ModelSummary model;
  std::vector<Setting> workload, mesh;
  std::string releases;  ///< the releases in words: "torch 2.8.0, transformers 4.57.6 (--with)"
  std::optional<DeviceSummary> device;
  std::vector<RankReport> ranks;
  int peak_rank = 0;
  std::optional<bool> fits;            ///< whether the central figure fits
  std::optional<VerdictWord> verdict;  ///< what is certain about it
  std::optional<Bytes> headroom_bytes;
  /// What the device holds if the program fits only because cached segments go back to the driver.
  /// It is absent if the program fits without that, or if the fullest rank's peak is the same.
  std::optional<Bytes> within_limit_bytes;
  std::optional<Failure> failure;
  Bounds bounds;  ///< the bounds of report::needed()
  std::vector<Advice> advice;
  /// Where it does not fit and no change was found that is enough: the nearest, and by how much it
  /// misses.
  std::string nothing_helps;
  std::vector<std::string> warnings;
};

/// A segment that the allocator takes from the driver or gives back. It happens while tape event
/// `event` is played: before the block of an alloc is placed, or as the effect of an empty_cache.
/// With expandable segments it is a range that is mapped or unmapped.
struct SegmentChange {
  std::size_t event = 0;
  bool taken = true;
  bool small_pool = false, expandable = false;
  StreamId stream = 0;
  std::int64_t address = 0;
  Bytes size = 0;
};

/// What reports that draw time need: the tape of the fullest rank, the sizes and addresses of its
/// blocks, and its timeline with samples.
struct Trace {
  Tape tape;
  Timeline timeline;
  BlockSizes sizes;
  std::vector<std::int64_t> addresses;  ///< by BlockId
  std::vector<SegmentChange> segments;  ///< in the order in which they happen
  int step = 2;                         ///< the number of the measured step, counted from 0
};

}  // namespace memtape
