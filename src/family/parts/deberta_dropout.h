// SPDX-License-Identifier: Apache-2.0
// DeBERTa's dropout and its softmax over masked scores. Until transformers 4.46 both are autograd
// functions of its own (XDropout, XSoftmax of models/deberta/modeling_deberta.py), whose backward
// works with what they keep: the mask of what is dropped, and the probabilities.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// StableDropout.__call__ with probability `p`.
Tensor deberta_dropout(const Tensor& x, double p);

/// The probabilities of `scores` where `attention_mask` is not 0. Both names are the caller's: since
/// kDebertaDropsPlainly it gives them the masked scores and the mask as truth values.
Tensor deberta_softmax(Tensor& scores, Tensor& attention_mask);

/// StableDropout, nn.Dropout since.
class DebertaDropout : public nn::Module<DebertaDropout> {
 public:
  DebertaDropout(const nn::Scope& scope, double p) : Module(scope), p_(p) {}
  Tensor forward(const Tensor& x) { return deberta_dropout(x, p_); }

 private:
  double p_;
};

}  // namespace memtape::family
