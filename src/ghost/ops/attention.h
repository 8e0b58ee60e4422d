// SPDX-License-Identifier: Apache-2.0
// scaled_dot_product_attention: these functions say which kernel torch chooses, and what each
// kernel allocates and keeps (aten/src/ATen/native/transformers/attention.cpp, cuda/sdp_utils.cpp,
// cuda/attention.cu, cuda/flash_attn/flash_api.cpp).
#pragma once

#include "ghost/given.h"
#include "ghost/tensor.h"

namespace memtape::ghost {

struct AttentionOptions {
  double dropout = 0.0;
  bool is_causal = false;
  bool enable_gqa = false;
};

/// torch.nn.functional.scaled_dot_product_attention of q [B, H, S, D] and of k and v [B, Hkv, Skv,
/// D]. `mask` may be undefined.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const Tensor& mask, const AttentionOptions& options);

/// What one call of a kernel makes, in forward or in backward, without autograd history. Only flash
/// attention makes the generator's words.
struct KernelForward {
  Tensor out, logsumexp, rng_state, unused;
};
struct KernelGradients {
  Tensor query, key, value;
};

/// The kernels that a framework can call directly.
enum class AttentionKernel { flash, efficient };
KernelForward attention_forward(AttentionKernel kernel, const Tensor& query, const Tensor& key,
                                const Tensor& value, double dropout);
KernelGradients attention_backward(AttentionKernel kernel, const Tensor& grad_out,
                                   const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Tensor& out);

/// While an object of this class lives, a framework uses it instead of the kernel (DTensor's
/// dispatcher does so under context_parallel).
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
