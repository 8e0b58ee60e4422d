// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/unpartitioned.h"

#include <utility>

#include "framework/deepspeed/basic_optimizer.h"
#include "framework/deepspeed/flat_tensors.h"
#include "framework/deepspeed/grad_health.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"

namespace memtape::deepspeed {
namespace {

using ghost::GradMode;

/// MEMORY_OPT_ALLREDUCE_SIZE
constexpr std::int64_t kAllReduceElements = 500'000'000;

/// The float32 optimizer: gradients are reduced, clipped and stepped over as they are.
class Unpartitioned : public EngineOptimizer {
 public:
  Unpartitioned(std::vector<Tensor> parameters, const DsConfig& config)
      : parameters_(std::move(parameters)), config_(config) {}

  void backward_epilogue(bool boundary) override {
    if (!boundary) return;
    const GradMode no_grad(false);
    for (const Tensor& p : parameters_)  // _get_gradients_for_reduction
      if (!p.impl().grad)
        p.impl().grad = ghost::zeros(p.sizes(), p.dtype(), Category::gradient).ptr();
    all_reduce_in_buckets(gradients(), config_.communication_data_type);
  }
  void step() override {
    const GradMode no_grad(false);
    if (config_.gradient_clipping > 0.0) clip_grad_norm(gradients());
    optimizer_->step();
  }
  void zero_grad() override {
    for (const Tensor& p : parameters_) p.impl().grad.reset();
  }
  torch::Optimizer& basic() override { return *optimizer_; }
  Bytes gradient_bytes() const override {
    Bytes bytes = 0;
    for (const Tensor& p : parameters_) bytes += p.nbytes();
    return bytes;
  }
  Bytes master_bytes() const override {
    Bytes bytes = 0;
    for (const Tensor& master : masters_) bytes += master.nbytes();
    return bytes;
  }

 protected:
  std::vector<Tensor> gradients() const {
    std::vector<Tensor> found;
    for (const Tensor& p : parameters_)
      if (p.impl().grad) found.push_back(p.grad());
    return found;
  }
  void add_master(Tensor master) {
    ghost::session().set_category(master, Category::optimizer_state);
    master.impl().requires_grad = true;
    masters_.push_back(std::move(master));
  }
  void make_optimizer(const TrainRecipe& recipe, torch::TensorList stepped) {
    optimizer_ = make_basic_optimizer(config_, recipe, std::move(stepped));
  }
  friend std::unique_ptr<EngineOptimizer> make_plain(std::vector<Tensor>, const DsConfig&,
                                                     const TrainRecipe&);

  std::vector<Tensor> parameters_, masters_;
  DsConfig config_;
  std::unique_ptr<torch::Optimizer> optimizer_;
};

std::unique_ptr<EngineOptimizer> make_plain(std::vector<Tensor> parameters, const DsConfig& config,
                                            const TrainRecipe& recipe) {
  auto plain = std::make_unique<Unpartitioned>(parameters, config);
  plain->make_optimizer(recipe, std::move(parameters));
  return plain;
}

/// FP16_UnfusedOptimizer
class Unfused final : public Unpartitioned {
 public:
  Unfused(std::vector<Tensor> parameters, const DsConfig& config, const TrainRecipe& recipe)
      : Unpartitioned(std::move(parameters), config) {
    const GradMode no_grad(false);
    for (const Tensor& p : parameters_) add_master(p.clone().to(DType::float32));
    make_optimizer(recipe, masters_);
    initialize_optimizer_states();
  }

  void step() override {
    const GradMode no_grad(false);
    check_each_overflow(gradients());
    weight_norm(parameters_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) set_master_gradient(i);
    optimizer_->step();
    for (const Tensor& master : masters_) master.impl().grad.reset();
  }

 private:
  void set_master_gradient(std::size_t i) {
    const Tensor gradient = parameters_[i].impl().grad
                                ? parameters_[i].grad().to(DType::float32)
                                : ghost::zeros(parameters_[i].sizes(), DType::float32);
    ghost::session().set_category(gradient, Category::gradient);
    masters_[i].impl().grad = gradient.ptr();
  }
  /// A step over gradients of zeros.
  void initialize_optimizer_states() {
    for (const std::vector<Tensor>* tensors : {&parameters_, &masters_})
      for (const Tensor& t : *tensors)
        t.impl().grad = ghost::zeros(t.sizes(), t.dtype(), Category::gradient).ptr();
    optimizer_->step();
    for (const std::vector<Tensor>* tensors : {&parameters_, &masters_})
      for (const Tensor& t : *tensors) t.impl().grad.reset();
  }
};

/// FP16_Optimizer
class Fused final : public Unpartitioned {
 public:
  Fused(std::vector<Tensor> parameters, const DsConfig& config, const TrainRecipe& recipe)
      : Unpartitioned(std::move(parameters), config) {
    const GradMode no_grad(false);
    flatten_parameters();
    add_master(flat_.clone().to(DType::float32));
    make_optimizer(recipe, masters_);
    set_master_gradient(ghost::zeros({flat_.numel()}, DType::float32));
    optimizer_->step();
    masters_.front().impl().grad.reset();
  }

  void step() override {
    const GradMode no_grad(false);
    check_each_overflow(gradients());
    {
      std::vector<Tensor> casts;
      for (const Tensor& gradient : gradients()) casts.push_back(gradient.to(DType::float32));
      set_master_gradient(flatten(casts));
    }
    if (!norm_mask_.defined()) norm_mask_ = ghost::empty({0}, DType::float32);
    zero_grad();
    flattened_grad_norm(masters_.front().grad());
    optimizer_->step();
    masters_.front().impl().grad.reset();
  }

 private:
  void flatten_parameters() {
    std::vector<Tensor> clones;
    for (const Tensor& p : parameters_) clones.push_back(p.clone());
    flat_ = flatten(clones);
    ghost::session().set_category(flat_, Category::parameter);
    std::int64_t start = 0;
    clones.clear();
    for (const Tensor& p : parameters_) {
      put_data(p, narrow(flat_, start, p.numel()));
      start += p.numel();
    }
  }
  void set_master_gradient(const Tensor& gradient) {
    ghost::session().set_category(gradient, Category::gradient);
    masters_.front().impl().grad = gradient.ptr();
  }

  Tensor flat_, norm_mask_;
};

}  // namespace

void all_reduce_in_buckets(const std::vector<Tensor>& gradients, DType communication_dtype) {
  std::vector<Tensor> bucket;
  std::int64_t elements = 0;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    bucket.push_back(gradients[i]);
    elements += gradients[i].numel();
    if (elements <= kAllReduceElements && i + 1 < gradients.size()) continue;
    const Tensor joined = flatten(bucket);
    const Tensor reduced = joined.to(communication_dtype);
    bucket.clear();
    elements = 0;
  }
}

std::unique_ptr<EngineOptimizer> make_unpartitioned(std::vector<Tensor> parameters,
                                                    const DsConfig& config,
                                                    const TrainRecipe& recipe) {
  if (config.model_dtype == DType::float32)
    return make_plain(std::move(parameters), config, recipe);
  const bool fused =
      config.optimizer && config.optimizer->kind == ConfiguredOptimizer::Kind::fused_adam;
  if (fused) return std::make_unique<Fused>(std::move(parameters), config, recipe);
  return std::make_unique<Unfused>(std::move(parameters), config, recipe);
}

}  // namespace memtape::deepspeed
