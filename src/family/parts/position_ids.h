// SPDX-License-Identifier: Apache-2.0
// PositionIds: the buffer of BERT's and CLIP's embeddings,
// register_buffer("position_ids", torch.arange(n).expand((1, -1))), int64 of shape [1, n].
#pragma once

#include "nn/module.h"

namespace memtape::family {

class PositionIds {
 public:
  PositionIds(const nn::Scope& scope, std::int64_t positions);

  /// _init_weights copies a new range into it.
  void init_weights() const;

  const Tensor& tensor() const { return ids_; }
  std::int64_t count() const { return ids_.size(1); }
  /// The first of them.
  Tensor first(std::int64_t length) const { return ids_.slice(1, 0, length); }

 private:
  ScopeId scope_;
  Tensor ids_;
};

}  // namespace memtape::family
