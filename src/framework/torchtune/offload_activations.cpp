// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtune/offload_activations.h"

#include <algorithm>
#include <memory>

#include "ghost/autograd/checkpoint.h"

namespace memtape::torchtune {
namespace {

constexpr std::int64_t kMaxFwdStashSize = 5;
constexpr Bytes kMinOffloadSize = 1024;

/// isinstance(activation, torch.nn.Parameter), which a view of one is not.
bool is_parameter(const Tensor& activation) {
  const ghost::Ptr<ghost::Storage>& storage = activation.impl().storage;
  return activation.is_leaf() && storage &&
         ghost::session().tape.why.category(storage->block) == Category::parameter;
}

}  // namespace

/// Hands a tensor to the Saved that unpacks it; what a node unpacked goes when the node has run.
class OffloadActivations::UntilNodeEnds final : public ghost::SavedTensorHooks {
 public:
  std::int64_t pack(const Tensor& tensor) override {
    tensor_ = tensor;
    return 0;
  }
  Tensor unpack(std::int64_t) override { return std::move(tensor_); }
  void drop(std::int64_t) override { tensor_.reset(); }

 private:
  Tensor tensor_;
};

/// The input of a checkpoint, for as long as its frame lives.
class OffloadActivations::SavedInput {
 public:
  SavedInput(OffloadActivations& owner, const Tensor& input)
      : owner_(&owner), id_(owner.pack(input)) {}
  ~SavedInput() { owner_->drop(id_); }
  SavedInput(const SavedInput&) = delete;
  SavedInput& operator=(const SavedInput&) = delete;
  Tensor unpack() { return owner_->unpack(id_); }

 private:
  ghost::Ptr<OffloadActivations> owner_;
  std::int64_t id_;
};

std::int64_t OffloadActivations::pack(const Tensor& activation) {
  const std::int64_t id = ++last_id_;
  if (activation.nbytes() < kMinOffloadSize || is_parameter(activation)) return -1;
  while (!fwd_stash_.empty() && fwd_stash_.front().first <= id - kMaxFwdStashSize)
    fwd_stash_.pop_front();
  tracker_[id] = {activation.sizes(), activation.strides(), activation.dtype(),
                  activation.requires_grad()};
  fwd_stash_.emplace_back(id, activation);
  in_backward_ = false;
  return id;
}

Tensor OffloadActivations::unpack(std::int64_t id) {
  if (!node_runs()) begin_node();
  const auto at = tracker_.find(id);
  const OnHost host = at->second;
  tracker_.erase(at);
  if (const auto stashed = stash_in_backward_.find(id); stashed != stash_in_backward_.end())
    return stashed->second->unpack();
  const ghost::StreamGuard on_comm_stream(stream_);
  const ghost::Op op("OffloadActivations", {});
  Tensor tensor = ghost::empty_strided(host.sizes, host.strides, host.dtype);
  tensor.impl().requires_grad = host.requires_grad;
  bwd_tensor_stash_.push_back(tensor);
  return tensor;
}

void OffloadActivations::drop(std::int64_t id) { tracker_.erase(id); }

bool OffloadActivations::node_runs() const {
  if (until_node_ends_.empty()) return false;
  const auto& unpacked = ghost::session().unpacked;
  return std::ranges::find(unpacked, &until_node_ends_.front()) != unpacked.end();
}

void OffloadActivations::begin_node() {
  if (!in_backward_) begin_backward();
  stash_in_backward_.clear();
  until_node_ends_.clear();
  keep_until_node_ends({});
  for (const Tensor& tensor : std::exchange(bwd_tensor_stash_, {})) keep_until_node_ends(tensor);
  for (const auto& [id, tensor] : std::exchange(fwd_stash_, {}))
    stash_in_backward_[id] = &keep_until_node_ends(tensor);
}

ghost::Saved& OffloadActivations::keep_until_node_ends(const Tensor& tensor) {
  ghost::Saved& saved = until_node_ends_.emplace_back();
  const ghost::Ptr<UntilNodeEnds> hooks(new UntilNodeEnds);
  const ghost::SavedTensorHooksGuard guard(hooks.get());
  saved.keep(tensor);
  saved.unpack();
  return saved;
}

/// wait_and_del_remaining_references
void OffloadActivations::begin_backward() {
  in_backward_ = true;
  if (auto* const callbacks = ghost::session().final_callbacks)
    callbacks->emplace_back([this] { bwd_tensor_stash_.clear(); });
}

Tensor OffloadActivations::checkpoint(const std::function<Tensor(const Tensor&)>& function,
                                      const Tensor& input) {
  const auto saved = std::make_shared<SavedInput>(*this, input);
  const auto in_forward = std::make_shared<Tensor>(input);
  Tensor token;
  {
    const ghost::HostGuard without_memory;
    token = ghost::empty({1}, DType::uint8);
  }
  Tensor output = ghost::checkpoint(
      [function, saved, in_forward](const Tensor&) {
        const Tensor x = in_forward->defined() ? *in_forward : saved->unpack();
        return function(x);
      },
      token);
  in_forward->reset();
  return output;
}

}  // namespace memtape::torchtune
