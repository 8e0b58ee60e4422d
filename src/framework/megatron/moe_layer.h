// SPDX-License-Identifier: Apache-2.0
// MoELayer (megatron/core/transformer/moe/moe_layer.py): a router, tokens that are sent to where
// their experts are, the experts of this rank, the way back, and experts that all tokens share.
#pragma once

#include <memory>

#include "framework/megatron/experts.h"
#include "framework/megatron/router.h"
#include "framework/megatron/shared_experts.h"
#include "framework/megatron/token_dispatcher.h"

namespace memtape::megatron {

class MoeLayer {
 public:
  MoeLayer(const nn::Scope& scope, Rank& rank);
  Tensor operator()(const Tensor& x);

 private:
  Tensor routed(const Tensor& x);
  Tensor shared(const Tensor& x);  ///< shared_experts_compute

  Rank& rank_;
  Router router_;
  std::unique_ptr<TokenDispatcher> dispatcher_;
  Experts experts_;
  std::unique_ptr<SharedExperts> shared_;
};

}  // namespace memtape::megatron
