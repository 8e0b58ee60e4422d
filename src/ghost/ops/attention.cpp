// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/attention.h"

#include "ghost/autocast.h"
#include "ghost/ops/flash_attention.h"

namespace memtape::ghost {

Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor&,
                                    const AttentionOptions& options) {
  constexpr CastPolicy kLow = CastPolicy::lower_precision;
  const Autocasted query(q, kLow), key(k, kLow), value(v, kLow);
  return flash_attention(*query, *key, *value, options);
}

}  // namespace memtape::ghost
