// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/context_sizes.h"

#include <algorithm>

#include "base/bytes.h"

namespace memtape::llamacpp {
namespace {

constexpr std::int64_t kContextPad = 256;
constexpr std::int64_t kOldPad = 32;  ///< without flash attention

}  // namespace

ContextSizes context_sizes(const Settings& s, const Hyperparameters& hp) {
  ContextSizes c;
  c.n_ctx = s.n_ctx == 0 ? hp.n_ctx_train : s.n_ctx;
  c.n_batch = hp.causal ? std::min(c.n_ctx, s.n_batch) : s.n_batch;
  c.n_ubatch = std::min(c.n_batch, s.n_ubatch == 0 ? s.n_batch : s.n_ubatch);
  c.n_outputs_max = s.n_outputs_max == 0 || hp.has_encoder ? c.n_batch : s.n_outputs_max;
  const std::int64_t pad =
      s.build.pads_all_caches() || s.flash != FlashAttention::off ? kContextPad : kOldPad;
  c.n_ctx = round_up(c.n_ctx, pad);
  c.n_ctx_seq = s.kv_unified ? c.n_ctx : round_up(c.n_ctx / s.n_seq_max, pad);
  if (!s.kv_unified) c.n_ctx = c.n_ctx_seq * s.n_seq_max;
  c.streams = s.kv_unified ? 1 : s.n_seq_max;
  c.n_gpu_layers = s.n_gpu_layers < 0 ? hp.n_layer_all + 1 : s.n_gpu_layers;
  return c;
}

}  // namespace memtape::llamacpp
