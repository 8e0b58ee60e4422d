// SPDX-License-Identifier: Apache-2.0
// AttentionState: what SGLang's attention backend keeps on the device beside the pools, which are
// made before it: FlashInfer's workspaces, and the tables that captured batches read.
#pragma once

#include <vector>

#include "framework/sglang/server_args.h"
#include "framework/vllm/kv_spec.h"

namespace memtape::sglang {

struct AttentionState {
  Bytes workspace = 0;  ///< from the start
  Bytes captured = 0;   ///< made for CUDA graphs
  /// What 0.4.6.post3 and .post4 make more for them; a release's number does not tell the posts.
  Bytes captured_of_posts = 0;
};

/// Of backends other than FlashAttention 3 and FlashInfer nothing is known, and nothing counted.
AttentionState attention_state(const ServerArgs& args, const std::vector<vllm::KvLayer>& layers);

}  // namespace memtape::sglang
