// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/trainer.h"

#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "framework/fsdp2/program_over_shards.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "framework/torch_cp/context.h"
#include "framework/torchtitan/loss.h"
#include "framework/torchtitan/model.h"
#include "framework/torchtitan/parallelize.h"
#include "ghost/autograd/node.h"
#include "ghost/session.h"
#include "mesh/shards.h"

namespace memtape::torchtitan {
namespace {

class TitanModel final : public fsdp2::ProgramOverShards {
 public:
  /// On the meta device: nothing takes memory yet.
  TitanModel(Transformer& model, const JobConfig& job, std::int64_t rank)
      : ProgramOverShards(model),
        transformer_(model),
        job_(job),
        whole_(torch::count_statics(model)),
        modules_({job.size("tp"), job.layout.coordinate(rank, "tp")}),
        context_({job.size("cp"), job.layout.coordinate(rank, "cp"), job.rotation}) {
    if (job.size("tp") > 1) apply_tensor_parallel(model, job, modules_);
    if (job.compiles_blocks) compile_blocks(model, job);
    if (job.shards) shard_pieces(rank);
  }

  /// model.to_empty(device="cuda"); model.init_weights()
  void materialize() {
    sharded_ ? sharded_->to_empty() : to_empty(model_.tree.root());
    transformer_.init_weights();
  }

  void set_up(torch::Optimizer& optimizer) override {
    if (sharded_ || job_.size("tp") == 1) return;
    optimizer.reads_gradients_as([this](const Tensor& p) {
      return modules_.needs_placement(p, p.grad()) ? modules_.in_placement(p, p.grad()) : Tensor();
    });
  }
  torch::StaticBytes statics() override {
    torch::StaticBytes statics = torch::count_statics(model_);
    if (sharded_) statics.parameter_bytes = sharded_->statics().parameter_bytes;
    statics.parameters = whole_.parameters;
    statics.trainable_parameters = whole_.trainable_parameters;
    statics.weight_bytes = whole_.weight_bytes;
    return statics;
  }

 private:
  void shard_pieces(std::int64_t rank) {
    fsdp2::Options options = job_.fsdp2;
    if (job_.size("tp") > 1)
      options.local_gradient = [this](const Tensor& parameter, Tensor gradient) {
        return modules_.needs_placement(parameter, gradient)
                   ? modules_.in_placement(parameter, gradient)
                   : gradient;
      };
    ProgramOverShards::shard(options, rank);
  }

  static void to_empty(const nn::ModuleNode& module) {
    for (const nn::ModuleNode* child : module.children) to_empty(*child);
    const ghost::ScopeGuard scope(module.scope);
    const ghost::Op op("empty_like", {});
    for (const nn::ModuleNode::Named& p : module.parameters)
      if (!p.tensor.impl().storage)
        p.tensor.impl().storage =
            ghost::empty(p.tensor.sizes(), p.tensor.dtype(), Category::parameter).impl().storage;
  }

  /// forward_backward_step: logits are let go of before backward.
  Tensor loss_by(const fsdp2::Forward& forward, const family::Batch& batch) override {
    family::Batch inputs;
    inputs.input_ids = batch.input_ids;
    Tensor labels = batch.labels;
    const bool is_cut = job_.size("cp") > 1;
    if (is_cut)
      context_.enter({{&inputs.input_ids},
                      {&labels},
                      {.tensor = &transformer_.freqs_cis, .dim = 0, .restored = true}});
    Tensor pred = forward(inputs).logits;
    Tensor loss = torchtitan::loss_of(pred, labels, job_);
    if (is_cut) context_.leave_after_backward(loss);
    if (!job_.since(kFreesLogits)) kept_pred_ = std::move(pred);
    return loss;
  }

  Transformer& transformer_;
  const JobConfig& job_;
  torch::StaticBytes whole_;
  torch_tp::DistributedModules modules_;
  torch_cp::Context context_;
  Tensor kept_pred_;
};

}  // namespace

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const ghost::DeviceTraits& device, int rank) {
  const Result<JobConfig> job = read_job_config(config, recipe);
  if (!job) return tl::unexpected(job.error());
  const Result<ModelArgs> args = read_model_args(config, recipe, *job);
  if (!args) return tl::unexpected(args.error());
  if (const auto known = torch::check_optimizer(recipe.optimizer, recipe.optimizer_impl); !known)
    return tl::unexpected(known.error());
  ghost::Session session(device);
  session.mark(Phase::init, -1, 0);
  std::unique_ptr<Transformer> model;
  std::unique_ptr<TitanModel> driven;
  {
    const ghost::HostGuard meta;
    model = std::make_unique<Transformer>(
        *args, family::ModelOptions{.dtype = recipe.parameter_dtype(),
                                    .attention = family::AttentionImplementation::sdpa});
    driven = std::make_unique<TitanModel>(*model, *job, rank);
  }
  driven->materialize();
  const torch::StaticBytes statics = torch::run_steps(recipe, *driven, {});
  if (session.error) return tl::unexpected(*session.error);
  return torch::TrainRun{std::move(session.tape), statics, false};
}

Result<std::vector<torch::RankClass>> rank_classes(const Config& config,
                                                   const TrainRecipe& recipe) {
  const Result<JobConfig> job = read_job_config(config, recipe);
  if (!job) return tl::unexpected(job.error());
  const Result<ModelArgs> args = read_model_args(config, recipe, *job);
  if (!args) return tl::unexpected(args.error());
  const std::int64_t head_rows = args->head_dim * args->n_heads;
  const std::int64_t lengths[] = {
      args->vocab_size, args->dim, args->hidden_dim, head_rows, args->head_dim * args->n_kv_heads,
      args->head_dim};
  const std::int64_t tp = job->size("tp"), shards = job->fsdp2.mesh.size("shard");
  std::map<std::vector<std::int64_t>, torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < recipe.layout.gpus; ++rank) {
    const std::int64_t at_tp = job->layout.coordinate(rank, "tp"),
                       at = job->fsdp2.mesh.coordinate(rank, "shard");
    std::vector<std::int64_t> held;
    for (const std::int64_t length : lengths) {
      const std::int64_t own = shard(length, tp, at_tp);
      for (const std::int64_t piece : {own, shard(own, shards, at), shard(length, shards, at)})
        held.push_back(-piece);
    }
    if (job->size("cp") > 1) held.push_back(job->layout.coordinate(rank, "cp"));
    classes[held].ranks.push_back(static_cast<int>(rank));
  }
  std::vector<torch::RankClass> found;
  for (auto& [held, alike] : classes) found.push_back(std::move(alike));
  return found;
}

}  // namespace memtape::torchtitan
