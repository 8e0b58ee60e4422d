// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/attention.h"

#include <utility>

#include "ghost/autocast.h"
#include "ghost/ops/attention_choice.h"
#include "ghost/ops/efficient_attention.h"
#include "ghost/ops/flash_attention.h"
#include "ghost/ops/math_attention.h"
#include "ghost/ops/padding.h"

namespace memtape::ghost {
namespace {

constexpr std::int64_t kAlignment =
    8;  // of flash's heads and of the efficient kernel's mask rows, in elements

/// pad_last_dim<8>.
Tensor padded_head(const Tensor& tensor) {
  const std::int64_t excess = tensor.size(-1) % kAlignment;
  return excess == 0 ? tensor : pad_last(tensor, 0, kAlignment - excess);
}

Tensor with_flash(const Tensor& query, const Tensor& key, const Tensor& value,
                  const AttentionOptions& options) {
  const Tensor query_padded = padded_head(query);
  const Tensor key_padded = padded_head(key);
  const Tensor value_padded = padded_head(value);
  AttentionInPlace* const in_place = given_here<AttentionInPlace>();
  const Tensor out = in_place ? in_place->attend(AttentionKernel::flash, query_padded, key_padded,
                                                 value_padded, options)
                              : flash_attention(query_padded, key_padded, value_padded, options);
  return out.size(-1) == query.size(-1)
             ? out
             : out.slice(-1, 0, query.size(-1));  // post_process_flash_output
}

/// aligned_tensor<8>.
bool rows_aligned(const Tensor& mask) {
  for (int i = 0; i + 1 < mask.dim(); ++i)
    if (mask.strides()[i] % kAlignment != 0) return false;
  return mask.strides().back() == 1;
}

/// preprocess_mask: rows at multiples of eight elements (a copy if need be), seen at the size of
/// the scores.
Tensor preprocessed(const Tensor& mask, const Tensor& query, const Tensor& key) {
  const std::int64_t columns = mask.size(-1);
  const Tensor aligned =
      rows_aligned(mask)
          ? mask
          : pad_last(mask, 0, kAlignment - columns % kAlignment).slice(-1, 0, columns);
  return aligned.expand({query.size(0), query.size(1), query.size(2), key.size(2)});
}

/// Autocast's wrapper runs the op itself with autocast off.
class WithoutAutocast {
 public:
  WithoutAutocast() : before_(session().autocast.enabled) { session().autocast.enabled = false; }
  ~WithoutAutocast() { session().autocast.enabled = before_; }
  WithoutAutocast(const WithoutAutocast&) = delete;
  WithoutAutocast& operator=(const WithoutAutocast&) = delete;

 private:
  bool before_;
};

}  // namespace

KernelForward attention_forward(AttentionKernel kernel, const Tensor& query, const Tensor& key,
                                const Tensor& value, double dropout) {
  return kernel == AttentionKernel::flash ? flash_forward(query, key, value, dropout)
                                          : efficient_forward(query, key, value, dropout);
}

KernelGradients attention_backward(AttentionKernel kernel, const Tensor& grad_out,
                                   const Tensor& query, const Tensor& key, const Tensor& value,
                                   const Tensor& out) {
  return kernel == AttentionKernel::flash
             ? flash_backward(grad_out, query, key, value, out)
             : efficient_backward(grad_out, query, key, value, out, 0.0);
}

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Tensor& attn_mask, const AttentionOptions& options) {
  constexpr CastPolicy kLow = CastPolicy::lower_precision;
  const Autocasted given_mask(attn_mask, kLow), value(v, kLow), key(k, kLow), query(q, kLow);
  const WithoutAutocast below;
  AttentionInPlace* const in_place = given_here<AttentionInPlace>();
  const AttentionBackend backend = choose_attention(*query, *key, *value, *given_mask, options);
  Tensor mask = additive_mask(*given_mask, query->dtype());
  if (backend == AttentionBackend::flash) return with_flash(*query, *key, *value, options);
  if (in_place && backend == AttentionBackend::efficient && !mask.defined())
    return in_place->attend(AttentionKernel::efficient, *query, *key, *value, options);
  if (in_place)
    session().fail({ErrorKind::unsupported,
                    "ring attention with another kernel than flash and the memory efficient one",
                    "--attention", "sdpa without a mask"});
  if (backend == AttentionBackend::math) return math_attention(*query, *key, *value, mask, options);
  if (mask.defined()) mask = preprocessed(mask, *query, *key);
  return efficient_attention(*query, *key, *value, mask, options);
}

}  // namespace memtape::ghost
