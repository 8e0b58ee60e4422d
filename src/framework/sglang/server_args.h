// SPDX-License-Identifier: Apache-2.0
// ServerArgs: SGLang's arguments after every default has been resolved, as far as they affect
// memory, with the settings for building the model, whose layers are vLLM's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "framework/sglang/lora_pool.h"
#include "framework/sglang/versions.h"
#include "framework/vllm/settings.h"
#include "model/config.h"
#include "serving/serve_engine.h"

namespace memtape::sglang {

struct ServerArgs {
  std::string version;
  Release release;
  double mem_fraction_static = 0;
  std::int64_t context_length = 0, chunked_prefill_size = 0, graph_max_batch = 0, page_size = 1;
  std::int64_t decode_graphs = 0;  ///< how many batches are captured
  std::int64_t decode_rows = 0;    ///< the requests of all of them
  Bytes prefill_graph_bytes = 0;   ///< what SGLang keeps back for the graphs of prefill
  std::optional<std::int64_t> max_running_requests, max_total_tokens, max_mamba_cache_size;
  double swa_full_tokens_ratio = 0.8, mamba_full_memory_ratio = 0.9;
  bool radix_cache = true;
  bool states_by_request = false;  ///< a request has one slot of states, whatever the tree keeps
  /// The tokens of the pool of layers with a window, where they follow from the requests.
  std::optional<std::int64_t> swa_tokens;
  bool tracks_states = false;  ///< extra_buffer: a request has two more slots for recurrent states
  bool cuda_graphs = true;
  std::string architecture = {};       ///< the first that the configuration names
  std::string attention_backend = {};  ///< "": the default
  bool hybrid_swa = false;             ///< the layers with a window have their own pool
  int replicas = 1;                    ///< the number of whole servers in data parallelism
  std::optional<LoraPool> lora;        ///< the adapters whose rank is known
  vllm::Settings model;                ///< that of rank 0
};

/// `warnings` receives what was given and is not modelled.
Result<ServerArgs> resolve(const ServeRequest& request, const Config& whole,
                           std::vector<std::string>& warnings);

}  // namespace memtape::sglang
