// SPDX-License-Identifier: Apache-2.0
// ServeAnswer: what an inference server needs, as plain values in the words of the JSON contract.
// An engine (src/framework/NAME) fills it; report/serve_text and report/serve_json show it. What an
// engine does not set is worked out from the rest by `predict_serve`: device, fits, headroom,
// bounds and the rank that needs most.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "outcome/answer_parts.h"
#include "outcome/verdict_word.h"
#include "tape/category.h"
#include "timeline/timeline.h"

namespace memtape {

/// Layers whose cache has one shape.
struct KvGroup {
  std::string kind;           ///< "full_attention", "sliding_window", "mla", "recurrent" ...
  std::int64_t layers = 0;    ///< on this rank
  std::int64_t tokens = 0;    ///< that the group holds in all; 0 where it does not grow with them
  Bytes bytes_per_token = 0;  ///< of all its layers
  Bytes bytes = 0;            ///< of all its layers
  std::string key_type, value_type;  ///< "f16", "fp8_e4m3"; "" where there is none
};

struct KvCache {
  std::optional<Bytes> bytes_per_token;  ///< nothing where no single figure exists
  std::int64_t block_size = 0;           ///< tokens
  std::int64_t num_blocks = 0;
  std::int64_t tokens = 0;                ///< that the cache holds in all
  std::optional<double> max_concurrency;  ///< requests of the full context at a time
  std::optional<double> users;            ///< requests of ServeRequest::user_tokens at a time
  Bytes bytes = 0;
  std::vector<KvGroup> layers;
};

/// A named stretch of serving: "prefill", "decode", "profile".
struct ServePhase {
  std::string name;
  Levels peak;
};

struct ServeRank {
  std::vector<int> ranks{0};
  int stage = 0;
  Bytes weights_bytes = 0;
  Bytes activation_peak_bytes = 0;  ///< beyond weights and KV cache
  Bytes non_torch_bytes = 0;        ///< outside the engine's allocator: context, libraries
  Bytes cuda_graph_bytes = 0;
  KvCache kv_cache;
  CategoryBytes at_peak;        ///< sums to peak_device_bytes
  Bytes peak_device_bytes = 0;  ///< as nvidia-smi shows it
  std::optional<Levels> peak;   ///< of PyTorch's allocator, for engines that use it
  std::vector<ServePhase> phases;
  std::vector<std::pair<std::string, Bytes>> measured;  ///< an engine's further figures, by key
};

/// One of ggml's buffers: what the model, the context and the graphs hold there.
struct BufferBytes {
  std::string name;
  Bytes model = 0, context = 0, compute = 0;
};

/// What --solve found: a flag's value, and what happens beyond it.
struct Solved {
  std::string flag, value, beyond;
};

/// How many users there can be, each with so many tokens of prompt and answer.
struct Users {
  std::int64_t asked = 0;  ///< 0: as many as there can be
  std::int64_t context = 0, output = 0;
  std::int64_t fit = 0;
  Bytes bytes = 0;  ///< of cache, for one of them on one rank
};

struct ServeAnswer {
  std::string engine;
  ModelSummary model;
  std::vector<Setting> workload, mesh;
  std::optional<DeviceSummary> device;
  std::vector<ServeRank> ranks;
  std::vector<BufferBytes> buffers;
  int peak_rank = 0;
  std::optional<bool> fits;
  std::string failure;  ///< why it does not start, where the engine knows more than "too large"
  std::string doubt;    ///< why it may not start although the central figures say that it does
  std::optional<VerdictWord> verdict;  ///< of `fits`, what is doubtful and `bounds`
  std::optional<Bytes> headroom_bytes;
  std::size_t allocations = 0;  ///< of the run beneath, where its length follows from the flags
  std::optional<Bounds> bounds;
  std::vector<Advice> advice;
  std::optional<Solved> solved;
  std::optional<Users> users;
  /// Flags with their values that an engine's own search for what fits has found.
  std::vector<std::pair<std::string, std::string>> fitted;
  std::string corrected_command;   ///< a launch command that does not fit, so that it does
  std::vector<std::string> notes;  ///< lines for people: flags to paste, what a figure means
  std::vector<std::string> warnings;
};

}  // namespace memtape
