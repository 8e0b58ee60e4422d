// SPDX-License-Identifier: Apache-2.0
// SharedExpertMLP (megatron/core/transformer/moe/shared_experts.py): the experts that all tokens
// share. They run before the router, or, with --moe-shared-expert-overlap, in parts between those
// of the token dispatcher, on a stream of their own.
#pragma once

#include <memory>

#include "framework/megatron/linear.h"

namespace memtape::megatron {

/// Whether they can run as they are asked to (TransformerConfig.__post_init__).
Result<void> check_shared_experts(const Arguments& arguments);

class SharedExperts {
 public:
  SharedExperts(const nn::Scope& scope, Rank& rank);

  Tensor operator()(const Tensor& x);

  /// The parts of an overlapped pass, in the order in which the token dispatcher calls them.
  /// `exchanged` is what the dispatcher's messages brought: in backward they start as soon as they
  /// can. It is undefined where there was no message.
  void pre_forward_comm(const Tensor& input);
  void fc1_forward_and_act(const Tensor& exchanged);
  void fc2_forward(const Tensor& exchanged);
  void post_forward_comm();
  Tensor output();

 private:
  Tensor score_of(const Tensor& x) const;

  Rank& rank_;
  Tensor gate_;
  std::unique_ptr<Linear> fc1_, fc2_;
  StreamId stream_ = 0;
  Tensor score_, fc1_input_, fc2_input_, fc2_output_, output_;  ///< from one part to the next
};

}  // namespace memtape::megatron
