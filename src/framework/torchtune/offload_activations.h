// SPDX-License-Identifier: Apache-2.0
// OffloadActivations of torchtune (0.6.1, training/_activation_offloading.py) with streams: what
// autograd saves in the forward goes to host memory on a second stream, and the last few tensors
// stay on the GPU until the first node has run that needs such a tensor. Backward brings each back
// on that stream, from whose pool its memory comes, and keeps it until the next node that needs one
// has run.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/session.h"

namespace memtape::torchtune {

using ghost::Tensor;

class OffloadActivations final : public ghost::SavedTensorHooks {
 public:
  OffloadActivations() : stream_(ghost::session().make_stream()) {}

  std::int64_t pack(const Tensor& tensor) override;
  Tensor unpack(std::int64_t handle) override;
  void drop(std::int64_t handle) override;

  /// torch.utils.checkpoint under these hooks: the input is what the checkpoint saves, so it is
  /// offloaded (_NoopSaveInputs of torch/utils/checkpoint.py).
  Tensor checkpoint(const std::function<Tensor(const Tensor&)>& function, const Tensor& input);

 private:
  struct OnHost {
    ghost::Dims sizes, strides;
    DType dtype = DType::float32;
    bool requires_grad = false;
  };
  class UntilNodeEnds;
  class SavedInput;

  /// Whether the node that asked last still runs.
  bool node_runs() const;
  void begin_node();
  /// Lets go of the tensor when the node that runs has run.
  ghost::Saved& keep_until_node_ends(const Tensor& tensor);
  void begin_backward();

  const StreamId stream_;
  std::int64_t last_id_ = 0;
  std::map<std::int64_t, OnHost> tracker_;
  std::deque<std::pair<std::int64_t, Tensor>> fwd_stash_;
  std::map<std::int64_t, const ghost::Saved*> stash_in_backward_;
  std::deque<Tensor> bwd_tensor_stash_;
  std::deque<ghost::Saved> until_node_ends_;
  bool in_backward_ = false;
};

}  // namespace memtape::torchtune
