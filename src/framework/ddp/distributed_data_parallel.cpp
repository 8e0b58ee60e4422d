// SPDX-License-Identifier: Apache-2.0
#include "framework/ddp/distributed_data_parallel.h"

#include <memory>
#include <utility>
#include <vector>

#include "framework/ddp/broadcast.h"
#include "framework/ddp/reducer.h"
#include "framework/torch/init_device.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "ghost/autograd/node.h"
#include "nn/buffers.h"

namespace memtape::ddp {
namespace {

using ghost::Tensor;

/// _DDPSink: clones of the outputs, whose backward tells DDP that it has begun.
struct DDPSinkBackward final : ghost::Node {
  explicit DDPSinkBackward(std::function<void()> on_backward)
      : Node("_DDPSinkBackward"), begun(std::move(on_backward)) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    begun();
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i];
  }
  void release() override {}
  std::function<void()> begun;
};

class DistributedDataParallel final : public torch::DrivenModel {
 public:
  DistributedDataParallel(family::PretrainedModel& model, const Options& options)
      : DrivenModel(model), options_(options) {
    buffers_ = nn::buffers(model.tree.root());
    if (options_.init_sync) sync_module_states();
    reducer_ = std::make_unique<Reducer>(parameters(), options_);
  }

  void set_gradient_sync(bool sync) override { syncs_gradients_ = sync; }

  void call(const std::function<Outputs()>& module) override {
    pre_forward();
    post_forward(module());
  }

 private:
  void sync_module_states() {
    std::vector<Tensor> states = nn::parameters(model_.tree.root());  // frozen ones, too
    if (options_.broadcast_buffers) states.insert(states.end(), buffers_.begin(), buffers_.end());
    broadcast_coalesced(states);
  }

  void pre_forward() {
    if (syncs_gradients_) reducer_->prepare_for_forward();
    reducer_->rebuild_buckets();
    if (syncs_buffers_ && options_.broadcast_buffers && !buffers_.empty()) broadcast_buffers();
  }

  void broadcast_buffers() {
    broadcast_coalesced(buffers_);
    reducer_->begin_collective();
  }

  void post_forward(const Outputs& outputs) {
    syncs_buffers_ = syncs_gradients_;
    if (syncs_gradients_) reducer_->prepare_for_backward(with_history(outputs));
    if (options_.searches_unused() || (options_.static_graph && !delayed_)) sink(outputs);
  }

  /// _find_tensors of what the module returned.
  static std::vector<Tensor> with_history(const Outputs& outputs) {
    std::vector<Tensor> found;
    for (const Tensor* output : outputs)
      if (output->defined() && output->requires_grad()) found.push_back(*output);
    return found;
  }

  /// All outputs are cloned; those without a history stay what they were.
  void sink(const Outputs& outputs) {
    const auto node = ghost::make_node<DDPSinkBackward>([this] { begin_backward(); });
    std::vector<Tensor> passed;
    for (const Tensor* output : outputs) {
      if (!output->defined()) continue;
      if (output->requires_grad()) node->edges.push_back(ghost::gradient_edge(*output));
      const ghost::GradMode no_grad(false);
      passed.push_back(output->clone());
    }
    std::size_t next = 0;
    std::vector<Tensor> inputs;  // until the last has its place
    for (Tensor* output : outputs) {
      if (!output->defined()) continue;
      Tensor& clone = passed[next++];
      if (!output->requires_grad()) continue;
      ghost::set_history(clone, node);
      inputs.push_back(std::exchange(*output, std::move(clone)));
    }
  }

  void begin_backward() {
    if (!options_.static_graph || delayed_) return;
    delayed_ = true;
    ghost::session().final_callbacks->push_back([this] { reducer_->delay_all_reduce(); });
  }

  Options options_;
  std::vector<Tensor> buffers_;
  std::unique_ptr<Reducer> reducer_;
  bool syncs_gradients_ = true, syncs_buffers_ = true;
  bool delayed_ = false;  ///< _static_graph_delay_allreduce_enqueued
};

}  // namespace

std::unique_ptr<torch::DrivenModel> wrap_model(family::PretrainedModel& model,
                                               const Options& options) {
  return std::make_unique<DistributedDataParallel>(model, options);
}

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device) {
  const auto wrap = [&](family::PretrainedModel& model) -> std::unique_ptr<torch::DrivenModel> {
    torch::move_to_device(model.tree.root());
    return wrap_model(model, options);
  };
  // The reducer sees in one step what it does in the next: of a static graph the second step gives
  // the order of the buckets that the third begins with.
  return torch::run_wrapped(config, recipe, device, wrap, true);
}

}  // namespace memtape::ddp
