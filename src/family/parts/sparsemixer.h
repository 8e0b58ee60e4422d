// SPDX-License-Identifier: Apache-2.0
// sparsemixer: Phi-MoE's choice of two experts per token, one after the other, each sampled among
// those whose score is near the best (transformers 5.17 models/phimoe/modeling_phimoe.py;
// SparseMixer, arXiv 2409.12136).
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// Weights and int64 experts [T, 2] of scores [T, experts].
struct Mixed {
  Tensor multiplier, selected_experts;
};
Mixed sparsemixer(const Tensor& scores);

}  // namespace memtape::family
