// SPDX-License-Identifier: Apache-2.0
// AttentionCalls: while it lives, it notes the sizes with which modules call the attention
// functions of transformers. So a model says itself what its attention computes, whatever its
// configuration leaves out. Families whose modules have attention written out are not heard.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "ghost/given.h"

namespace memtape::family {

struct AttentionSizes {
  std::int64_t heads = 0, kv_heads = 0;
  std::int64_t head_dim = 0, value_head_dim = 0;
  bool sees_own_tokens = true;  ///< and no keys of another kind, such as compressed ones
};

class AttentionCalls {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::attention_calls;

  /// Tells the calls in force of one, with query [B, H, S, D], key and value [B, Hkv, S, D].
  static void note(const ghost::Tensor& query, const ghost::Tensor& key,
                   const ghost::Tensor& value) {
    if (auto* const calls = ghost::given_here<AttentionCalls>())
      calls->by_module[ghost::session().scope] = {query.size(1), key.size(1), query.size(-1),
                                                  value.size(-1), key.size(2) == query.size(2)};
  }

  /// By the module that called, its last call.
  std::unordered_map<ScopeId, AttentionSizes> by_module;

 private:
  ghost::Given<AttentionCalls> given_{this};
};

}  // namespace memtape::family
