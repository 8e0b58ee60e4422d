// SPDX-License-Identifier: Apache-2.0
#include "framework/torch_tp/parallelize.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "family/parts/forward_arguments.h"
#include "framework/fsdp2/program_over_shards.h"
#include "framework/torch/built_parameters.h"
#include "framework/torch/init_device.h"
#include "framework/torch/model_setup.h"
#include "framework/torch/optimizer.h"
#include "framework/torch_tp/distributed_modules.h"
#include "framework/torch_tp/options.h"
#include "framework/torch_tp/parallel_loss.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/loss.h"
#include "ghost/session.h"
#include "mesh/shards.h"
#include "nn/layers.h"

namespace memtape::torch_tp {
namespace {

class ParallelModel final : public fsdp2::ProgramOverShards {
 public:
  ParallelModel(family::PretrainedModel& model, const Options& options, const TrainRecipe& recipe,
                std::int64_t rank)
      : ProgramOverShards(model),
        options_(options),
        whole_(torch::count_statics(model)),
        modules_(options.mesh(rank)) {
    if (options_.sequence_parallel) check_windows(recipe.sequence_length / options_.size);
    parallelize();
    if (recipe.max_grad_norm) check_norm_of_all();
    if (options_.fsdp2) shard_rest(rank);
  }

  /// model.to_empty(device="cuda"), where the model was made on the meta device.
  void to_empty() { sharded_ ? sharded_->to_empty() : torch::move_to_device(model_.tree.root()); }

  void make_position_ids(std::int64_t sequence_length) {
    const ghost::ScopeGuard outside(0);
    position_ids_ = ghost::arange(sequence_length, DType::int64).unsqueeze(0);
    ghost::session().set_category(position_ids_, Category::input);
  }

  /// DTensors first: foreach takes no list that mixes them with plain tensors.
  std::vector<Tensor> parameters() override {
    if (sharded_) return sharded_->parameters();
    std::vector<Tensor> all = torch::trainable_parameters(model_);
    std::stable_partition(all.begin(), all.end(),
                          [this](const Tensor& p) { return modules_.is_distributed(p); });
    return all;
  }

  void set_up(torch::Optimizer& optimizer) override {
    if (sharded_) return;
    const std::vector<Tensor>& all = optimizer.parameters();
    const auto plain = std::find_if(
        all.begin(), all.end(), [this](const Tensor& p) { return !modules_.is_distributed(p); });
    optimizer.second_group_from(static_cast<std::size_t>(plain - all.begin()));
    optimizer.reads_gradients_as([this](const Tensor& p) {
      return modules_.needs_placement(p, p.grad()) ? modules_.in_placement(p, p.grad()) : Tensor();
    });
  }

  torch::StaticBytes statics() override {
    torch::StaticBytes statics = whole_;
    statics.parameter_bytes =
        (sharded_ ? sharded_->statics() : torch::count_statics(model_)).parameter_bytes;
    return statics;
  }

 private:
  /// Masks are made in the size of what is cut: a window within it makes one, which then does not
  /// fit the scores of all tokens.
  void check_windows(std::int64_t tokens) const {
    for (const std::int64_t window : model_.sliding_windows())
      if (window > 0 && window <= tokens)
        ghost::session().fail({ErrorKind::bad_input,
                               "a window of " + std::to_string(window) + " within the " +
                                   std::to_string(tokens) + " tokens of a piece makes a mask",
                               "--strategy: sequence_parallel", "false"});
  }

  /// clip_grad_norm_ stacks the norms of all gradients, which must lie on one mesh.
  void check_norm_of_all() const {
    const std::vector<Tensor> trained = torch::trainable_parameters(model_);
    const auto cut = std::count_if(trained.begin(), trained.end(),
                                   [this](const Tensor& p) { return modules_.is_distributed(p); });
    if (cut == 0 || cut == std::ssize(trained)) return;
    ghost::session().fail(
        {ErrorKind::bad_input,
         "gradients of DTensors on the tensor parallel mesh and of others have no "
         "norm together",
         "--max-grad-norm", "none"});
  }

  /// colrow: the ends of the model first, then a call of parallelize_module for each layer; hf: the
  /// modules as they come. The order decides where the pieces lie.
  void parallelize() {
    const std::vector<nn::NamedModule> modules = nn::named_modules(model_.tree.root());
    check_norms(modules);
    if (options_.plan_name == PlanName::hf && ties_head(modules))
      options_.plan.push_back(hf_tied_embedding());
    std::unordered_set<const PlannedStyle*> used;
    const auto apply_to = [&](const nn::NamedModule& module) {
      const PlannedStyle* const planned = planned_for(options_.plan, module.name);
      if (!planned) return;
      const bool is_first = used.insert(planned).second;
      if (is_first || is_of_layer(*planned)) modules_.apply(*module.node, planned->style);
    };
    if (options_.plan_name == PlanName::colrow)
      for (const PlannedStyle& planned : options_.plan)
        for (const nn::NamedModule& module : modules)
          if (module.name == planned.module) apply_to(module);
    for (const nn::NamedModule& module : modules) apply_to(module);
    if (options_.plan_name == PlanName::colrow) check_all_used(used);
  }

  /// A norm on what a module gives, before the residual is added, would add a DTensor to a plain
  /// tensor.
  void check_norms(const std::vector<nn::NamedModule>& modules) const {
    for (const nn::NamedModule& module : modules)
      if (options_.plan_name == PlanName::colrow && norms_all_heads(modules, module))
        ghost::session().fail(
            {ErrorKind::bad_input,
             "the plan colrow does not fit \"" + module.name + "\", which norms all heads at once",
             "--strategy: plan", "hf"});
      else if (options_.sequence_parallel && module.name.ends_with("post_feedforward_layernorm"))
        ghost::session().fail({ErrorKind::bad_input,
                               "the plan colrow does not fit norms behind attention and MLP",
                               "--strategy: sequence_parallel", "false"});
  }

  /// Whether a norm is as wide as the projection it follows, of which each GPU has a piece.
  static bool norms_all_heads(const std::vector<nn::NamedModule>& modules,
                              const nn::NamedModule& norm) {
    constexpr std::string_view kNorm = "_norm";
    if (!norm.name.ends_with("q_norm") && !norm.name.ends_with("k_norm")) return false;
    const std::string projection = norm.name.substr(0, norm.name.size() - kNorm.size()) + "_proj";
    return std::any_of(modules.begin(), modules.end(), [&](const nn::NamedModule& module) {
      return module.name == projection && !norm.node->parameters.empty() &&
             !module.node->parameters.empty() &&
             module.node->parameters.front().tensor.size(0) ==
                 norm.node->parameters.front().tensor.numel();
    });
  }

  bool ties_head(const std::vector<nn::NamedModule>& modules) const {
    const nn::Projection* const head = model_.head();
    return head && std::any_of(modules.begin(), modules.end(), [&](const nn::NamedModule& module) {
             return module.node->embedding &&
                    module.node->embedding->weight.ptr() == head->weight.ptr();
           });
  }

  static bool is_of_layer(const PlannedStyle& planned) {
    return planned.module.find('*') != std::string::npos;
  }

  void check_all_used(const std::unordered_set<const PlannedStyle*>& used) const {
    for (const PlannedStyle& planned : options_.plan)
      if (!used.contains(&planned))
        ghost::session().fail({ErrorKind::unsupported,
                               "the model has no \"" + planned.module + "\" for the plan colrow",
                               "--strategy: plan", "hf, where transformers has a plan for it"});
  }

  void shard_rest(std::int64_t rank) {
    fsdp2::Options options = *options_.fsdp2;
    options.local_gradient = [this](const Tensor& parameter, Tensor gradient) {
      return modules_.needs_placement(parameter, gradient)
                 ? modules_.in_placement(parameter, gradient)
                 : gradient;
    };
    shard(options, rank);
  }

  Tensor loss_by(const fsdp2::Forward& forward, const family::Batch& batch) override {
    const family::ForwardArguments arguments(nullptr, position_ids_, 0,
                                             family::ForwardArguments::Stage::prefill);
    if (options_.plan_name == PlanName::hf) return forward(batch).loss;
    family::Batch inputs;
    inputs.input_ids = batch.input_ids;
    const Tensor logits = forward(inputs).logits;
    const Tensor labels = batch.labels.view({-1});
    Tensor scores = logits.view({-1, logits.size(-1)}).to_float();
    return options_.loss_parallel ? parallel_cross_entropy(std::move(scores), labels)
                                  : ghost::cross_entropy(std::move(scores), labels);
  }

  Options options_;
  torch::StaticBytes whole_;
  DistributedModules modules_;
  Tensor position_ids_;
};

/// Pieces of a dimension that the tensor parallel axis cuts, the other axis or both.
std::vector<std::int64_t> pieces_of(std::int64_t length, const Layout& layout, std::int64_t rank) {
  const std::int64_t tp = layout.size("tp"), dp = layout.size("shard");
  const std::int64_t at = layout.coordinate(rank, "tp"), at_dp = layout.coordinate(rank, "shard");
  const std::int64_t own = shard(length, tp, at);
  return {-own, -shard(length, dp, at_dp), -shard(own, dp, at_dp)};
}

}  // namespace

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank) {
  const auto wrap = [&](family::PretrainedModel& model) -> std::unique_ptr<torch::DrivenModel> {
    const bool on_meta = torch::init_device(recipe) == InitDevice::meta;
    auto parallel = [&] {
      const ghost::HostGuard meta(on_meta);
      return std::make_unique<ParallelModel>(model, options, recipe, rank);
    }();
    if (on_meta) parallel->to_empty();
    parallel->make_position_ids(recipe.sequence_length);
    return parallel;
  };
  return torch::run_wrapped(config, recipe, device, wrap);
}

Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Options& options) {
  const auto parameters = torch::built_parameters(config, recipe);
  if (!parameters) return tl::unexpected(parameters.error());
  std::vector<std::int64_t> lengths;  // each once: those decide how pieces differ
  for (const torch::BuiltParameter& parameter : *parameters)
    lengths.insert(lengths.end(), parameter.shape.begin(), parameter.shape.end());
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  std::map<std::vector<std::int64_t>, torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < recipe.layout.gpus; ++rank) {
    std::vector<std::int64_t> held;
    for (std::int64_t length : lengths)
      for (std::int64_t piece : pieces_of(length, options.layout, rank)) held.push_back(piece);
    classes[held].ranks.push_back(static_cast<int>(rank));
  }
  std::vector<torch::RankClass> found;
  for (auto& [held, alike] : classes) found.push_back(std::move(alike));
  return found;
}

}  // namespace memtape::torch_tp
