// SPDX-License-Identifier: Apache-2.0
// ContextSizes: the sizes that llama.cpp's context derives from its settings for a model
// (llama-context.cpp).
#pragma once

#include <cstdint>

#include "framework/llamacpp/settings.h"

namespace memtape::llamacpp {

/// The sizes of a context.
struct ContextSizes {
  std::int64_t n_ctx = 0, n_ctx_seq = 0, n_batch = 0, n_ubatch = 0, n_outputs_max = 0;
  std::int64_t streams = 1;  ///< the number of caches that sequences do not share
  std::int64_t n_gpu_layers = 0;
};

ContextSizes context_sizes(const Settings& settings, const Hyperparameters& hp);

/// Whether the cache of latents holds no values in addition.
inline bool latent_alone(const Hyperparameters& hp, const Settings& settings) {
  return hp.is_mla() && settings.build.drops_latent_values();
}

}  // namespace memtape::llamacpp
