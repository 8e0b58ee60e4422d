// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/data_parallel.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "family/caches/key_value_cache.h"
#include "ghost/autograd/accumulate_grad.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/views.h"
#include "nn/buffers.h"

namespace memtape::torch {
namespace {

using ghost::Tensor;

/// The buffer_size of comm.broadcast_coalesced and comm.reduce_add_coalesced.
constexpr Bytes kBufferBytes = 10 * 1024 * 1024;

/// Which tensors go together: those of one dtype, until the next one would exceed the buffer
/// (torch/_utils.py, _take_tensors), or until the buffer is full (take_tensors of
/// torch/csrc/utils/tensor_flatten.cpp).
enum class Takes { below_limit, until_full };

using Indices = std::vector<std::size_t>;

std::vector<Indices> take_tensors(const std::vector<Tensor>& tensors, Takes takes) {
  struct Group {
    DType dtype;
    Indices places = {};
    Bytes size = 0;
  };
  std::vector<Indices> taken;
  std::vector<Group> groups;
  const auto close = [&](Group& group) {
    taken.push_back(std::exchange(group.places, {}));
    group.size = 0;
  };
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    auto group = std::ranges::find(groups, tensors[i].dtype(), &Group::dtype);
    if (group == groups.end()) group = groups.insert(groups.end(), Group{tensors[i].dtype()});
    const Bytes size = tensors[i].nbytes();
    if (takes == Takes::below_limit && group->size > 0 && group->size + size > kBufferBytes)
      close(*group);
    group->places.push_back(i);
    group->size += size;
    if (takes == Takes::until_full && group->size >= kBufferBytes) close(*group);
  }
  for (Group& group : groups)
    if (!group.places.empty()) close(group);
  return taken;
}

/// _flatten_dense_tensors: one tensor alone goes as it is.
Tensor flattened(const std::vector<Tensor>& tensors, const Indices& places) {
  if (places.size() == 1) return tensors[places.front()].view({-1});
  std::vector<Tensor> flat;
  for (const std::size_t place : places) flat.push_back(tensors[place].view({-1}));
  Tensor joined = ghost::cat(flat, 0);
  ghost::session().set_category(joined, Category::communication);
  return joined;
}

/// comm.broadcast_coalesced; the first GPU keeps what it has.
void broadcast(const std::vector<Tensor>& tensors) {
  const ghost::GradMode no_grad(false);
  for (const Indices& chunk : take_tensors(tensors, Takes::until_full)) flattened(tensors, chunk);
}

/// Gather: the outputs of all replicas, one behind the other.
struct GatherNode final : ghost::Node {
  GatherNode(const Tensor& output, std::function<void()> on_backward)
      : Node("GatherBackward"),
        sizes(output.sizes()),
        strides(output.strides()),
        begun(std::move(on_backward)) {}
  /// The first part of what is scattered again is a view.
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    begun();
    if (in[0].defined()) out[0] = ghost::alias(in[0], sizes, strides);
  }
  void release() override {}
  ghost::Dims sizes, strides;
  std::function<void()> begun;
};

class DataParallel final : public DrivenModel {
 public:
  DataParallel(family::PretrainedModel& model, std::int64_t gpus)
      : DrivenModel(model), gpus_(gpus), parameters_(nn::parameters(model.tree.root())) {
    buffers_ = nn::buffers(model.tree.root());
    accumulated_.resize(parameters_.size());
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (!parameters_[i].requires_grad()) continue;
      accumulators_.push_back(ghost::grad_accumulator(parameters_[i]));
      accumulators_.back()->add_hooks().after.push_back([this, i] { pass().arrived.push_back(i); });
    }
  }

  void call(const std::function<Outputs()>& module) override {
    broadcast(parameters_);
    broadcast(buffers_);
    const Outputs outputs = module();
    std::vector<Tensor> gathered;
    for (const Tensor* output : outputs)
      gathered.push_back(output->defined() ? gather(*output) : Tensor());
    if (family::KeyValueCache* cache = family::KeyValueCache::passed())
      gather_cache(*cache, gathered);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i]->defined()) *outputs[i] = std::move(gathered[i]);
  }

  /// comm.scatter: the first rows, which lie where they are.
  family::Batch scattered(const family::Batch& batch) const override {
    family::Batch part = batch;
    for (Tensor* rows : {&part.input_ids, &part.labels, &part.attention_mask, &part.start_positions,
                         &part.end_positions, &part.pixel_values, &part.input_features})
      if (rows->defined()) *rows = rows->slice(0, 0, rows->size(0) / gpus_);
    return part;
  }

 private:
  /// A backward, or the backward of what a checkpoint has computed again, which has gradients of
  /// its own for Broadcast.
  struct Pass {
    const void* of = nullptr;
    bool is_outer = false;
    Indices arrived = {};
  };

  Tensor gather(const Tensor& output) {
    ghost::Dims sizes{(output.dim() == 0 ? 1 : output.size(0)) * gpus_};
    for (int d = 1; d < output.dim(); ++d) sizes = sizes.with(output.size(d));
    const ghost::Op op("gather", {});
    Tensor all = ghost::empty(sizes, output.dtype(), Category::communication);
    if (!output.requires_grad() || !ghost::session().grad_enabled) return all;
    const auto node = ghost::make_node<GatherNode>(output, [this] { begin_backward(); });
    node->edges.push_back(ghost::gradient_edge(output));
    ghost::set_history(all, node);
    return all;
  }

  /// past_key_values, which DynamicCache makes of a gathered layer after the other, each joined to
  /// nothing (transformers, cache_utils.py: ddp_cache_data). `kept` holds the replica's until all
  /// outputs are there.
  void gather_cache(family::KeyValueCache& cache, std::vector<Tensor>& kept) {
    for (std::size_t layer = 0; !cache.is_at(layer); ++layer) {
      std::vector<Tensor> gathered;
      for (const Tensor* states : cache.held(layer)) gathered.push_back(gather(*states));
      const std::vector<Tensor*> held = cache.held(layer);
      for (std::size_t i = 0; i < held.size(); ++i) {
        const ghost::Op op("cat", {});
        Tensor joined = ghost::empty(gathered[i].sizes(), gathered[i].dtype(), Category::kv_cache);
        kept.push_back(std::exchange(*held[i], std::move(joined)));
      }
    }
  }

  /// A replica's parameters are no leaves: their gradients wait at Broadcast, apart from those of
  /// earlier micro-batches.
  void begin_backward() {
    pass().is_outer = true;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (auto& grad = parameters_[i].impl().grad)
        accumulated_[i] = Tensor(std::exchange(grad, {}));
  }

  /// The one that runs.
  Pass& pass() {
    auto* const callbacks = ghost::session().final_callbacks;
    const auto known = std::ranges::find(passes_, callbacks, &Pass::of);
    if (known != passes_.end()) return *known;
    callbacks->push_back([this] { end_pass(); });
    return passes_.emplace_back(Pass{.of = callbacks});
  }

  void end_pass() {
    const Pass ended = std::move(passes_.back());
    passes_.pop_back();
    if (!ended.arrived.empty()) reduce(ended.arrived);
    if (!ended.is_outer) return;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (accumulated_[i].defined())
        parameters_[i].impl().grad = std::exchange(accumulated_[i], {}).ptr();
  }

  /// Broadcast's backward, which makes gradients of zeros where there are none, of frozen
  /// parameters, too.
  void reduce(const Indices& arrived) {
    std::vector<Tensor> gradients(parameters_.size());
    for (const std::size_t place : arrived)
      gradients[place] = Tensor(std::exchange(parameters_[place].impl().grad, {}));
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (!gradients[i].defined())
        gradients[i] =
            ghost::zeros(parameters_[i].sizes(), parameters_[i].dtype(), Category::communication);
    std::vector<Tensor> sums = reduce_add_coalesced(gradients);
    gradients.clear();
    for (std::size_t i = 0; i < sums.size(); ++i)
      if (parameters_[i].requires_grad() && !accumulated_[i].defined()) {
        ghost::session().set_category(sums[i], Category::gradient);
        accumulated_[i] = std::move(sums[i]);
      }
  }

  /// comm.reduce_add_coalesced, with NCCL: views of the sums.
  static std::vector<Tensor> reduce_add_coalesced(const std::vector<Tensor>& gradients) {
    std::vector<Tensor> sums(gradients.size());
    Tensor flat;
    for (const Indices& chunk : take_tensors(gradients, Takes::below_limit)) {
      flat = flattened(gradients, chunk);
      const ghost::Op op("empty_like", {});
      const Tensor sum = ghost::empty(flat.sizes(), flat.dtype(), Category::communication);
      for (const std::size_t place : chunk)
        sums[place] = ghost::alias(sum, gradients[place].sizes(), gradients[place].strides());
    }
    return sums;
  }

  std::int64_t gpus_;
  std::vector<Tensor> parameters_, buffers_;
  std::vector<ghost::Ptr<ghost::Node>> accumulators_;
  std::vector<Tensor> accumulated_;  ///< Parameter.grad, while replicas have theirs
  std::vector<Pass> passes_;
};

}  // namespace

std::unique_ptr<DrivenModel> data_parallel(family::PretrainedModel& model, std::int64_t gpus) {
  return std::make_unique<DataParallel>(model, gpus);
}

}  // namespace memtape::torch
