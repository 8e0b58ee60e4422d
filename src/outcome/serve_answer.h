// SPDX-License-Identifier: Apache-2.0
// ServeAnswer: what an inference server needs, as plain values in the words of the JSON contract.
// An engine (src/framework/NAME) fills it, and report/serve_text and report/serve_json show it.
// `predict_serve` derives what an engine leaves open from the rest: the device, whether it fits,
// the headroom, the bounds, and the rank that needs most.
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

/// Layers whose caches have the same shape.
struct KvGroup {
  std::string kind;         ///< "full_attention", "sliding_window", "mla", "recurrent" ...
  std::int64_t layers = 0;  ///< those on this rank
  /// The tokens that the group can hold; 0 if its size does not depend on them.
  std::int64_t tokens = 0;
  Bytes bytes_per_token = 0;         ///< the sum over all its layers
  Bytes bytes = 0;                   ///< the sum over all its layers
  std::string key_type, value_type;  ///< "f16", "fp8_e4m3"; "" if it has none
};

struct KvCache {
  std::optional<Bytes> bytes_per_token;  ///< absent if there is no single figure
  std::int64_t block_size = 0;           ///< in tokens
  std::int64_t num_blocks = 0;
  std::int64_t tokens = 0;                ///< the tokens that the whole cache can hold
  std::optional<double> max_concurrency;  ///< how many requests of full context can run at a time
  /// How many requests of ServeRequest::user_tokens can run at a time.
  std::optional<double> users;
  Bytes bytes = 0;
  std::vector<KvGroup> layers;
};

/// A named part of serving: "prefill", "decode", "profile".
struct ServePhase {
  std::string name;
  Levels peak;
};

struct ServeRank {
  std::vector<int> ranks{0};
  int stage = 0;
  Bytes weights_bytes = 0;
  Bytes activation_peak_bytes = 0;  ///< what is needed in addition to weights and KV cache
  Bytes non_torch_bytes = 0;  ///< outside of the engine's allocator: the context and libraries
  Bytes cuda_graph_bytes = 0;
  KvCache kv_cache;
  /// The most that the device holds while weights are loaded, quantized or repacked.
  std::optional<Bytes> load_peak_bytes;
  CategoryBytes at_peak;        ///< it sums to peak_device_bytes
  Bytes peak_device_bytes = 0;  ///< as nvidia-smi shows it
  std::optional<Levels> peak;   ///< that of PyTorch's allocator, if the engine uses it
  std::vector<ServePhase> phases;
  std::vector<std::pair<std::string, Bytes>> measured;  ///< other figures of an engine, by key
};

/// The request for memory that ends a loading.
struct LoadFailure {
  std::string module, op;
  Bytes requested_bytes = 0, held_allocated_bytes = 0;
};

/// Whether a server gets through the loading of its weights, which comes before everything else and
/// may take more than what the server then holds.
struct ServeLoading {
  Bytes peak_bytes = 0;  ///< of the rank that takes most
  std::optional<LoadFailure> failed;
  std::string failure;  ///< the same in words: why a device has too little, or ""
  std::string doubt;    ///< why it may have too little, or ""

  VerdictWord verdict() const {
    if (!failure.empty()) return VerdictWord::does_not_fit;
    return doubt.empty() ? VerdictWord::fits : VerdictWord::may_not_fit;
  }
};

/// One of ggml's buffers: how much of the model, the context and the graphs lies there.
struct BufferBytes {
  std::string name;
  Bytes model = 0, context = 0, compute = 0;
};

/// What --solve has found: the value of a flag, and what happens beyond it.
struct Solved {
  std::string flag, value, beyond;
};

/// How many users there can be if each has that many tokens of prompt and answer.
struct Users {
  std::int64_t asked = 0;  ///< 0: as many as possible
  std::int64_t context = 0, output = 0;
  std::int64_t fit = 0;
  Bytes bytes = 0;  ///< the cache that one of them needs on one rank
};

struct ServeAnswer {
  std::string engine;
  ModelSummary model;
  std::vector<Setting> workload, mesh;
  std::optional<DeviceSummary> device;
  std::vector<ServeRank> ranks;
  std::vector<BufferBytes> buffers;
  int peak_rank = 0;
  std::optional<ServeLoading> loading;  ///< absent where loading is not modelled
  std::optional<bool> fits;
  std::string failure;  ///< why it does not start, if the engine knows more than "too large"
  std::string doubt;    ///< why it may not start although the central figures say that it does
  std::optional<VerdictWord> verdict;  ///< it follows from `fits`, from the doubt and from `bounds`
  std::optional<Bytes> headroom_bytes;
  /// The allocations of the underlying run, if its length follows from the flags.
  std::size_t allocations = 0;
  std::optional<Bounds> bounds;
  std::vector<Advice> advice;
  std::string nothing_helps;  ///< what was tried, where nothing makes it fit
  std::optional<Solved> solved;
  std::optional<Users> users;
  /// Flags with the values that an engine's own search for what fits has found.
  std::vector<std::pair<std::string, std::string>> fitted;
  std::string corrected_command;  ///< a launch command that does not fit, changed so that it fits
  /// Lines for people: flags that can be pasted, or what a figure means.
  std::vector<std::string> notes;
  std::vector<std::string> warnings;
};

}  // namespace memtape
