// SPDX-License-Identifier: Apache-2.0
// Rotary embeddings: those of llama3 and deepseek_v3 are products of complex numbers in float32;
// those of qwen3 use cosines and sines, which lie side by side in one table
// (models/*/model/model.py).
#pragma once

#include "ghost/tensor.h"

namespace memtape::torchtitan {

enum class Rope { complex, cos_sin };

struct Rotated {
  ghost::Tensor q, k;
};

/// apply_rotary_emb of llama3 and of qwen3.
Rotated rotate(Rope rope, const ghost::Tensor& xq, const ghost::Tensor& xk,
               const ghost::Tensor& freqs_cis);
/// apply_rotary_emb of deepseek_v3.
ghost::Tensor rotate_one(const ghost::Tensor& x, const ghost::Tensor& freqs_cis);

/// precompute_freqs_cis, and precompute_rope_cache of qwen3, for heads in which `width` numbers are
/// rotated.
ghost::Tensor precompute_freqs_cis(Rope rope, std::int64_t width, std::int64_t max_seq_len);

/// Shows the same memory as numbers of another kind.
ghost::Tensor seen_as(const ghost::Tensor& numbers, DType dtype, const ghost::Dims& sizes);

}  // namespace memtape::torchtitan
