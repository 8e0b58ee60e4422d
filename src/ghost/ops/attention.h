// SPDX-License-Identifier: Apache-2.0
// scaled_dot_product_attention: which kernel torch chooses, and what each allocates and keeps
// (aten/src/ATen/native/transformers/attention.cpp, cuda/sdp_utils.cpp, cuda/attention.cu,
// cuda/flash_attn/flash_api.cpp).
#pragma once

#include "ghost/tensor.h"

namespace memtape::ghost {

struct AttentionOptions {
  double dropout = 0.0;
  bool is_causal = false;
  bool enable_gqa = false;
};

/// torch.nn.functional.scaled_dot_product_attention of q [B, H, S, D], k and v [B, Hkv, Skv, D];
/// `mask` may be undefined.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& mask, const AttentionOptions& options);

/// What a framework puts in the place of the flash kernel while it lives (DTensor's dispatcher
/// under context_parallel).
class AttentionInPlace {
 public:
  AttentionInPlace();
  virtual ~AttentionInPlace();
  AttentionInPlace(const AttentionInPlace&) = delete;
  AttentionInPlace& operator=(const AttentionInPlace&) = delete;
  virtual Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value,
                        const AttentionOptions& options) = 0;

 private:
  AttentionInPlace* outer_;
};

}  // namespace memtape::ghost
