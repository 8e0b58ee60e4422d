// SPDX-License-Identifier: Apache-2.0
// Rotary embeddings: llama3's and deepseek_v3's complex products in float32, and qwen3's cosines
// and sines, which lie beside each other in one table (models/*/model/model.py).
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

/// precompute_freqs_cis, and qwen3's precompute_rope_cache, of heads that rotate `width` numbers.
ghost::Tensor precompute_freqs_cis(Rope rope, std::int64_t width, std::int64_t max_seq_len);

/// The same memory as other numbers.
ghost::Tensor seen_as(const ghost::Tensor& numbers, DType dtype, const ghost::Dims& sizes);

}  // namespace memtape::torchtitan
