// SPDX-License-Identifier: Apache-2.0
// scaled_dot_product_attention: which kernel torch chooses, and what each allocates and keeps
// (aten/src/ATen/native/transformers/attention.cpp, cuda/sdp_utils.cpp, cuda/attention.cu,
// cuda/flash_attn/flash_api.cpp).
#pragma once

#include "ghost/given.h"
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

/// What one call of a kernel makes, forward and backward, without history. The generator's words
/// are flash's.
struct KernelForward {
  Tensor out, logsumexp, rng_state, unused;
};
struct KernelGradients {
  Tensor query, key, value;
};

/// The kernels that a framework can call itself.
enum class AttentionKernel { flash, efficient };
KernelForward attention_forward(AttentionKernel kernel, const Tensor& query, const Tensor& key,
                                const Tensor& value, double dropout);
KernelGradients attention_backward(AttentionKernel kernel, const Tensor& grad_out,
                                   const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Tensor& out);

/// What a framework puts in the place of a kernel while it lives (DTensor's dispatcher under
/// context_parallel).
class AttentionInPlace {
 public:
  static constexpr Slot kSlot = Slot::attention_in_place;
  AttentionInPlace() = default;
  virtual ~AttentionInPlace() = default;
  AttentionInPlace(const AttentionInPlace&) = delete;
  AttentionInPlace& operator=(const AttentionInPlace&) = delete;
  virtual Tensor attend(AttentionKernel kernel, const Tensor& query, const Tensor& key,
                        const Tensor& value, const AttentionOptions& options) = 0;

 private:
  Given<AttentionInPlace> given_{this};
};

}  // namespace memtape::ghost
