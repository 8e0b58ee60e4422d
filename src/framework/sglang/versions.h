// SPDX-License-Identifier: Apache-2.0
// SGLang's defaults that depend on the device, one generation a row of versions
// (srt/server_args.py, from 0.5.20 on srt/arg_groups/memory_hook.py): how many tokens a prefill
// chunk has, how large the batches of CUDA graphs are, and which share of the memory weights and
// caches get.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace memtape::sglang {

inline constexpr std::string_view kVersion = "0.5.23";

enum class Generation : std::uint8_t {
  table,      ///< up to 0.4.7: a share by the number of ranks
  tiers,      ///< 0.4.8 to 0.5.2: a reserve by the device's memory
  formula,    ///< 0.5.3 to 0.5.9: a reserve by chunk, graphs and ranks
  piecewise,  ///< 0.5.10 to 0.5.13: and for the graphs of prefill
  current,    ///< after: larger chunks and batches on small devices
};

/// "0.5.3.post1" is formula. The error says what a version looks like.
Result<Generation> generation_of(std::string_view version);

/// What the defaults depend on.
struct DefaultsInput {
  double gpu_mib = 0;  ///< as nvidia-smi prints it
  int tp = 1, pp = 1;
  bool mla = false;
  bool graphs = true;
  bool prefill_graphs = true;
  std::optional<std::int64_t> prefill_graph_max;     ///< tokens of the largest, at most
  std::optional<std::int64_t> chunked_prefill_size;  ///< as given
  std::optional<std::int64_t> graph_max_batch;       ///< as given
  std::optional<std::int64_t> max_running_requests;  ///< as given
  std::int64_t max_prefill_tokens = 16384;
};

struct Defaults {
  std::int64_t chunked_prefill_size = 0, graph_max_batch = 0;
  double mem_fraction_static = 0;
};

Defaults defaults_of(Generation generation, const DefaultsInput& input);

}  // namespace memtape::sglang
