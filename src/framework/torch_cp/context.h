// SPDX-License-Identifier: Apache-2.0
// Context: what `with context_parallel(mesh, buffers=...)` does to a program
// (torch/distributed/tensor/experimental/_context_parallel/_attention.py): the buffers that run
// along the sequence are put in the balanced order and cut, and attention goes round the ring until
// the backward pass has ended.
#pragma once

#include <optional>
#include <vector>

#include "framework/torch_cp/ring_attention.h"
#include "ghost/tensor.h"

namespace memtape::torch_cp {

struct ContextBuffer {
  ghost::Tensor* tensor;
  int dim = 1;            ///< along which it is cut
  bool restored = false;  ///< it is no member of no_restore_buffers: a copy brings it back
};

class Context {
 public:
  explicit Context(const Ring& ring) : ring_(ring) {}

  void enter(std::vector<ContextBuffer> buffers);
  /// Once the backward pass of `loss` has ended, fully_shard's last reduction included.
  void leave_after_backward(const ghost::Tensor& loss);
  void leave();

 private:
  struct Original {
    ContextBuffer buffer;
    ghost::Tensor whole;
  };
  ghost::Dims cut(ghost::Dims sizes, int dim) const;

  Ring ring_;
  std::optional<RingAttention> attention_;  ///< what is computed again in backward goes round, too
  std::vector<ghost::Tensor> held_;
  std::vector<Original> originals_;
};

}  // namespace memtape::torch_cp
