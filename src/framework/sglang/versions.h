// SPDX-License-Identifier: Apache-2.0
// SGLang's defaults that depend on the device and on its release (srt/server_args.py, from 0.5.20
// on srt/arg_groups/memory_hook.py; the changes are in release/engine_changes.h): how many tokens a
// prefill chunk has, how large the batches of CUDA graphs are, and which share of the memory is for
// weights and caches.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "release/engine_changes.h"

namespace memtape::sglang {

inline constexpr std::string_view kVersion = "0.5.23";

/// What the defaults depend on.
struct DefaultsInput {
  double gpu_mib = 0;  ///< as nvidia-smi prints it
  int tp = 1, pp = 1, attention_dp = 1;
  bool mla = false;
  bool graphs = true;
  bool prefill_graphs = true;
  /// The most tokens that the largest graph may have.
  std::optional<std::int64_t> prefill_graph_max = {};
  std::optional<std::int64_t> chunked_prefill_size = {};  ///< the value that was given
  std::optional<std::int64_t> graph_max_batch = {};       ///< the value that was given
  std::optional<std::int64_t> max_running_requests = {};  ///< the value that was given
  std::int64_t max_prefill_tokens = 16384;
};

struct Defaults {
  std::int64_t chunked_prefill_size = 0, graph_max_batch = 0;
  std::int64_t decode_graphs = 0;  ///< how many batches are captured
  std::int64_t decode_rows = 0;    ///< the requests of all of them
  double prefill_graph_mib = 0;    ///< what SGLang keeps back for the graphs of prefill
  double mem_fraction_static = 0;
};

Defaults defaults_of(const Release& release, const DefaultsInput& input);

}  // namespace memtape::sglang
