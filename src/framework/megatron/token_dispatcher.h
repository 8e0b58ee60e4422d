// SPDX-License-Identifier: Apache-2.0
// MoETokenDispatcher (megatron/core/transformer/moe/token_dispatcher.py): it brings tokens to the
// ranks that hold their experts, and brings the outputs back. There are two kinds: either every
// rank sees all tokens ("allgather"), or ranks exchange tokens ("alltoall"). "flex" is treated as
// "alltoall", because only its library knows its buffers. What a dispatcher knows about a routing
// stays until the next one.
//
// The rank to which a token goes cannot be known. So tokens are spread as ExpertLoad says, evenly
// unless it is told otherwise.
#pragma once

#include <memory>

#include "framework/megatron/linear.h"
#include "framework/megatron/permutation.h"
#include "framework/megatron/router.h"
#include "framework/megatron/shared_experts.h"

namespace memtape::megatron {

class TokenDispatcher {
 public:
  explicit TokenDispatcher(Rank& rank)
      : rank_(rank),
        moe_(rank.a.moe),
        ep_(rank.a.ep),
        etp_(rank.a.etp),
        local_(rank.a.moe.num_experts / rank.a.ep) {}
  virtual ~TokenDispatcher() = default;
  TokenDispatcher(const TokenDispatcher&) = delete;
  TokenDispatcher& operator=(const TokenDispatcher&) = delete;

  /// Their parts run between the dispatcher's own.
  void set_shared_experts(SharedExperts* experts) { shared_experts_ = experts; }

  /// dispatch_preprocess of rows [tokens, hidden].
  virtual Tokens preprocess(const Tensor& rows, const Routing& routing) = 0;
  /// token_dispatch
  virtual Tokens dispatch(const Tokens& tokens) = 0;
  /// dispatch_postprocess, which returns what the experts of this rank get, sorted by expert.
  virtual Tokens postprocess(const Tokens& tokens) = 0;
  virtual Tensor combine_preprocess(const Tensor& output) = 0;
  /// token_combine
  virtual Tensor combine(const Tensor& output) = 0;
  virtual Tensor combine_postprocess(const Tensor& output) = 0;

 protected:
  Rank& rank_;
  const MoeArguments& moe_;
  std::int64_t ep_, etp_, local_;
  SharedExperts* shared_experts_ = nullptr;
};

std::unique_ptr<TokenDispatcher> make_token_dispatcher(Rank& rank);

}  // namespace memtape::megatron
