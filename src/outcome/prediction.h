// SPDX-License-Identifier: Apache-2.0
// Prediction: the answer of memtape as plain values, in the words of the JSON contract
// (docs/json.md, schema "memtape/1"). Every report (text, json, csv, html, snapshot) is a function
// of a Prediction and, where it draws time, of the Trace beneath it.
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
  std::string
      module;  ///< "model.layers.*.mlp": layers that repeat are folded into one row with `count`
  std::string op;
  std::vector<std::int64_t> shape;
  std::string dtype;
  std::int64_t count = 1;
  Bytes bytes = 0;  ///< of all `count` together, in the allocator
  std::string why;  ///< one sentence: "kept by MmBackward0 until the backward pass of ..."
};

struct PhaseReport {
  Phase phase = Phase::forward;
  Levels peak;
  CategoryBytes at_peak;
};

/// Where in the step the peak lies.
struct PeakMoment {
  std::size_t event = 0;  ///< index into the tape
  std::string module, op, node;
};

/// Something a process takes on the device that the allocator does not know of. What it takes is
/// counted where one figure is known, and a range where only that is.
struct OutsideMemory {
  std::string what;         ///< "the CUDA context", "NCCL for tp of 8 ranks"
  Bytes counted_bytes = 0;  ///< in peak_device_bytes
  Bytes low_bytes = 0, high_bytes = 0;
  std::string source;
};

/// A forward or a backward of one micro-batch in one stage of the model.
struct Pass {
  Phase phase = Phase::forward;
  int stage = 0, micro_batch = 0;
};

struct RankReport {
  std::vector<int> ranks{0};
  int stage = 0;
  Bytes parameter_bytes = 0, buffer_bytes = 0, optimizer_state_bytes = 0, gradient_bytes = 0;
  Levels peak;
  Bytes peak_device_bytes = 0;  ///< peak reserved + everything outside the allocator
  Phase peak_phase = Phase::forward;
  PeakMoment peak_moment;
  Levels steady;
  CategoryBytes at_peak;
  std::vector<PhaseReport> phases;  ///< those the framework has, in order
  std::vector<LargestTensor> largest;
  std::vector<OutsideMemory> outside;
  std::vector<Pass> passes;  ///< what the rank runs in a step, in its order
};

/// Why it does not fit: the step, phase, op and request at which the device runs out.
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
  std::string source = "predicted";  ///< or "recorded": by the real step (--real)
  ModelSummary model;
  std::vector<Setting> workload, mesh;
  std::string releases;  ///< in words: "torch 2.8.0, transformers 4.57.6 (--with)"
  std::optional<DeviceSummary> device;
  std::vector<RankReport> ranks;
  int peak_rank = 0;
  std::optional<bool> fits;            ///< what the central figure says
  std::optional<VerdictWord> verdict;  ///< what can be said of it
  std::optional<Bytes> headroom_bytes;
  /// What the device then holds where the program fits because cached segments go back; nothing
  /// where it fits without that, or where the fullest rank's peak is the same.
  std::optional<Bytes> within_limit_bytes;
  std::optional<Failure> failure;
  Bounds bounds;  ///< of report::needed()
  std::vector<Advice> advice;
  std::vector<std::string> warnings;
};

/// A segment taken from the driver or given back. It happens while tape event `event` is played:
/// before the block of an alloc is placed, or as the whole of an empty_cache. With expandable
/// segments: a range mapped or unmapped.
struct SegmentChange {
  std::size_t event = 0;
  bool taken = true;
  bool small_pool = false, expandable = false;
  StreamId stream = 0;
  std::int64_t address = 0;
  Bytes size = 0;
};

/// What reports that draw time need: the tape of the fullest rank, its block sizes and addresses,
/// and its timeline with samples.
struct Trace {
  Tape tape;
  Timeline timeline;
  BlockSizes sizes;
  std::vector<std::int64_t> addresses;  ///< by BlockId
  std::vector<SegmentChange> segments;  ///< in the order of the run
  int step = 2;                         ///< the measured step (0-based)
};

}  // namespace memtape
