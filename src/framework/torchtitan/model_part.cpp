// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/model_part.h"

#include <utility>

#include "framework/ddp/distributed_data_parallel.h"
#include "framework/torch/init_device.h"
#include "framework/torch/optimizer.h"
#include "framework/torchtitan/loss.h"
#include "framework/torchtitan/parallelize.h"
#include "ghost/session.h"

namespace memtape::torchtitan {
namespace {

constexpr double kReplicateBucketMb = 100;  // apply_ddp's bucket_cap_mb

}  // namespace

ModelPart::ModelPart(Transformer& model, const JobConfig& job, std::int64_t rank)
    : ProgramOverShards(model),
      transformer_(model),
      job_(job),
      whole_(torch::count_statics(model)),
      modules_({job.size("tp"), job.layout.coordinate(rank, "tp")}),
      rescales_loss_(job.has(changes::kTitanRescalesLoss) && !job.accumulates),
      context_({job.size("cp"), job.layout.coordinate(rank, "cp"), job.rotation}) {
  if (job.size("tp") > 1) apply_tensor_parallel(model, job, modules_);
  share_experts(model, job, rank);
  if (job.compiles_blocks) compile_blocks(model, job);
  if (job.shards) shard_pieces(rank);
  if (model.is_tied()) tie_weights();
}

/// to_empty makes plain parameters anew, module by module, which leaves them untied; DTensors keep
/// their identity (torch.utils.swap_tensors in nn.Module._apply). v0.2.2's init_weights ties them.
void ModelPart::tie_weights() {
  const std::int64_t elements = transformer_.args().vocab_size * transformer_.args().dim;
  whole_.parameters -= elements;
  whole_.trainable_parameters -= elements;
  whole_.weight_bytes -= bytes_of(DType::float32, elements);
  if (sharded_)
    sharded_->share_shard(transformer_.embedding_table(), transformer_.output_table());
  else if (job_.size("tp") > 1 || job_.has(changes::kTitanGroupsHeads))
    transformer_.tie();
}

void ModelPart::materialize() {
  sharded_ ? sharded_->to_empty() : torch::move_to_device(model_.tree.root());
  transformer_.init_weights();
}

std::unique_ptr<torch::Optimizer> ModelPart::make_optimizer(const TrainRecipe& recipe) {
  if (!job_.steps_early) return ProgramOverShards::make_optimizer(recipe);
  auto stepping = torch::make_optimizer_in_backward(recipe, parameters());
  stepping_ = stepping.get();
  return stepping;
}

void ModelPart::set_up(torch::Optimizer& optimizer) {
  if (sharded_ || job_.size("tp") == 1) return;
  const auto placed = [this](const Tensor& p) {
    return modules_.needs_placement(p, p.grad()) ? modules_.in_placement(p, p.grad()) : Tensor();
  };
  if (!stepping_) return optimizer.reads_gradients_as(placed);
  for (const auto& of_one : stepping_->of_each()) of_one->reads_gradients_as(placed);
}

torch::StaticBytes ModelPart::statics() {
  torch::StaticBytes statics = torch::count_statics(model_);
  if (sharded_) statics.parameter_bytes = sharded_->statics().parameter_bytes;
  statics.parameters = whole_.parameters;
  statics.trainable_parameters = whole_.trainable_parameters;
  statics.weight_bytes = whole_.weight_bytes;
  return statics;
}

void ModelPart::shard_pieces(std::int64_t rank) {
  fsdp2::Options options = job_.fsdp2;
  if (job_.expert_parallel > 1) options.inner = experts_units(transformer_, job_);
  if (job_.size("tp") > 1)
    options.local_gradient = [this](const Tensor& parameter, Tensor gradient) {
      return modules_.needs_placement(parameter, gradient)
                 ? modules_.in_placement(parameter, gradient)
                 : gradient;
    };
  if (job_.steps_early)
    options.post_accumulate = [this](const Tensor& parameter) { stepping_->step_at(parameter); };
  ProgramOverShards::shard(options, rank);
}

Tensor ModelPart::run(const Tensor& input) {
  if (!sharded_) return transformer_.run(input);
  Tensor output;
  sharded_->call([&]() -> Outputs {
    output = transformer_.run(input);
    return {&output};
  });
  return output;
}

Tensor ModelPart::logits_of(const fsdp2::Forward& forward, const family::Batch& inputs) {
  if (!job_.replicates()) return forward(inputs).logits;
  if (!replica_)
    replica_ = ddp::wrap_model(
        model_, {.bucket_cap_mb = kReplicateBucketMb, .broadcast_buffers = false, .hook = {}});
  return replica_->forward(forward, inputs).logits;
}

Tensor ModelPart::loss_by(const fsdp2::Forward& forward, const family::Batch& batch) {
  family::Batch inputs;
  inputs.input_ids = batch.input_ids;
  Tensor labels = batch.labels;
  const bool is_cut = job_.size("cp") > 1;
  if (is_cut) context_.enter({{&inputs.input_ids}, {&labels}, rotations()});
  Tensor pred = logits_of(forward, inputs);
  Tensor loss = torchtitan::loss_of(pred, labels, job_);
  if (rescales_loss_) loss = std::move(loss).div(2.0);
  if (is_cut) context_.leave_after_backward(loss);
  if (!job_.has(changes::kTitanFreesLogits)) kept_pred_ = std::move(pred);
  return loss;
}

}  // namespace memtape::torchtitan
