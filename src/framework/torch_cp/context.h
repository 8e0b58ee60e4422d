// SPDX-License-Identifier: Apache-2.0
// Context: what `with context_parallel(mesh, buffers=...)` does to a program
// (torch/distributed/tensor/experimental/_context_parallel/_attention.py). The buffers that run
// along the sequence are put into the balanced order and divided, and attention goes around the
// ring until the backward pass has ended.
#pragma once

#include <optional>
#include <vector>

#include "framework/torch_cp/ring_attention.h"
#include "ghost/tensor.h"

namespace memtape::torch_cp {

struct ContextBuffer {
  ghost::Tensor* tensor;
  int dim = 1;            ///< the dimension along which it is divided
  bool restored = false;  ///< it is not in no_restore_buffers, so a copy restores it
};

class Context {
 public:
  explicit Context(const Ring& ring) : ring_(ring) {}

  void enter(std::vector<ContextBuffer> buffers);
  /// Leaves the context once the backward pass of `loss` has ended, with fully_shard's last
  /// reduction.
  void leave_after_backward(const ghost::Tensor& loss);
  void leave();

 private:
  struct Original {
    ContextBuffer buffer;
    ghost::Tensor whole;
  };
  ghost::Dims cut(ghost::Dims sizes, int dim) const;

  Ring ring_;
  /// Attention that backward computes again goes around the ring, too.
  std::optional<RingAttention> attention_;
  std::vector<ghost::Tensor> held_;
  std::vector<Original> originals_;
};

}  // namespace memtape::torch_cp
