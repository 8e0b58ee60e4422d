// SPDX-License-Identifier: Apache-2.0
// StepClock: how long a step takes. It is made once for a model on a machine and then asked about
// layouts; what layers cost is worked out once a shape and kept.
//
//     const StepClock clock(shape, machine);
//     const StepTime t = clock.train(setup);     // t.seconds.mid, t.parts ...
//
// It keeps what it has worked out, so one thread at a time may ask it.
// Memory is exact; time is a range. docs/time.md says what it is made of and how far to trust it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "time/machine.h"
#include "time/model_shape.h"
#include "time/seconds.h"
#include "time/train_setup.h"

namespace memtape::time {

enum class PartKind : std::uint8_t { compute, message, bubble, optimizer, offload, host };

std::string_view name(PartKind kind);

/// Where the time of the slowest stage goes; the parts add up to the step.
struct TimePart {
  PartKind kind = PartKind::compute;
  std::string_view what;  ///< "gemm", "attention", "elementwise", "tp", "dp", "ep", "pp", "cp" ...
  double seconds = 0;     ///< on the critical path
  double hidden = 0;      ///< behind something else
};

/// One rank's action in the pipeline, for a timeline.
struct PipelineSlot {
  char kind = 'F';  ///< F forward, B backward (of inputs), W backward of weights
  std::int16_t stage = 0, chunk = 0;
  std::int32_t micro_batch = 0;
  double start = 0, end = 0;
};

struct StepTime {
  Seconds seconds;
  std::vector<TimePart> parts;
  double tokens_per_second = 0;          ///< of all GPUs
  double model_flops = 0;                ///< of the step on all GPUs, recomputation apart
  double mfu = 0;                        ///< of the peak of the dtype that is computed in
  std::vector<std::string> assumptions;  ///< what widens the range, in words
  std::vector<PipelineSlot> timeline;    ///< where it was asked for
};

/// A server as its time depends on it.
struct ServeSetup {
  enum class Engine : std::uint8_t { vllm, sglang, trtllm, llamacpp };
  Engine engine = Engine::vllm;
  std::int64_t tp = 1, pp = 1, dp = 1;  ///< dp: ranks of attention, each with requests of its own
  std::int64_t ep = 1;                  ///< experts are cut by expert over so many; else by width
  Compute weights = Compute::bf16;      ///< dtype of the matrices
  Compute experts = Compute::bf16;      ///< dtype of the experts
  bool expert_weights_only = false;     ///< experts in 4 bits (mxfp4), unpacked to `experts`
  double kv_bytes = 2;                  ///< of one element of the cache
  std::int64_t input_tokens = 1024, output_tokens = 128;
  std::int64_t concurrency = 1;            ///< requests in flight on all of this server
  std::int64_t max_batched_tokens = 8192;  ///< of one pass
  bool cuda_graphs = true;
};

struct ServeTime {
  Seconds ttft, tpot;
  double tokens_per_second = 0;  ///< generated, of the whole server at that concurrency
  double requests_per_second = 0;
  double prefill_seconds = 0;  ///< of one prompt alone
  double decode_seconds = 0;   ///< of one pass in which all requests decode
  std::vector<TimePart> decode_parts;
  std::vector<std::string> assumptions;
};

class StepClock {
 public:
  StepClock(ModelShape shape, Machine machine);
  ~StepClock();
  StepClock(const StepClock&) = delete;
  StepClock& operator=(const StepClock&) = delete;
  StepClock(StepClock&&) noexcept;
  StepClock& operator=(StepClock&&) noexcept;

  /// The step under that layout. Sizes that do not divide are rounded up, as the fullest rank has
  /// them. `timeline` fills StepTime::timeline.
  StepTime train(const TrainSetup& setup, bool timeline = false) const;
  /// The mid alone, for ranking: the same figure.
  double train_seconds(const TrainSetup& setup) const;
  ServeTime serve(const ServeSetup& setup) const;

  const ModelShape& shape() const;
  const Machine& machine() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace memtape::time
