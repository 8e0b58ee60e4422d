// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp2/fully_shard.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "framework/fsdp2/fsdp_state.h"
#include "framework/fsdp2/optimizer_over_shards.h"
#include "framework/torch/clip_grad.h"
#include "framework/torch/gradient_checkpointing.h"
#include "framework/torch/init_device.h"
#include "framework/torch/language_model_head.h"
#include "framework/torch/model_setup.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "mesh/shards.h"
#include "nn/layers.h"

namespace memtape::fsdp2 {
namespace {

using nn::ModuleNode;

/// Names that families give the norm between the last layer and the head.
constexpr std::array<std::string_view, 4> kFinalNorms{"norm", "final_layernorm", "ln_f",
                                                      "final_layer_norm"};

/// named_modules() without the names, in the same order.
template <class Visit>
void visit_modules(ModuleNode& node, const Visit& visit) {
  for (ModuleNode* child : node.children) {
    visit(*child);
    visit_modules(*child, visit);
  }
}

class ShardedModel final : public ShardedProgram {
 public:
  ShardedModel(family::PretrainedModel& model, const Options& options, std::int64_t rank,
               LossProgram loss)
      : ShardedProgram(model),
        options_(options),
        rank_(rank),
        loss_(std::move(loss)),
        whole_(torch::count_statics(model)) {
    context_.recomputes_layers =
        model.tree.gradient_checkpointing == nn::GradientCheckpointing::non_reentrant;
    ModuleNode& root = model.tree.root();
    visit_modules(root, [this](ModuleNode& module) {
      if (options_.wraps_layers && module.is_layer) shard_layer(module);
    });
    if (!options_.inner) prefetch_layers();
    if (options_.keeps_last_layer && !states_.empty() && states_.back()->group())
      states_.back()->group()->keep_unsharded_after_forward();
    if (options_.ends != WrappedEnds::none) shard_ends();
    if (options_.inner) prefetch_inner_units();
    shard({&root});
    std::rotate(states_.begin(), states_.end() - 1, states_.end());
    list_states();
    const bool root_keeps =
        !options_.reshard_after_forward || options_.ends == WrappedEnds::as_accelerate;
    if (root_keeps && states_.front()->group())
      states_.front()->group()->keep_unsharded_after_forward();
  }

  /// The shards, in the order of model.parameters().
  std::vector<Tensor> parameters() override {
    std::unordered_map<const ghost::TensorImpl*, Tensor> shards;
    for (const auto& state : states_)
      if (state->group())
        for (const FsdpParam& param : state->group()->params)
          shards.emplace(param.unsharded.ptr().get(), param.sharded);
    std::vector<Tensor> found;
    std::unordered_set<const ghost::TensorImpl*> seen;
    for (const ModuleNode::Named& p : nn::named_parameters(model_.tree.root())) {
      if (!p.tensor.requires_grad()) continue;
      const Tensor& shard = shards.at(p.tensor.ptr().get());
      if (seen.insert(shard.ptr().get()).second) found.push_back(shard);
    }
    return found;
  }

  void to_empty() override { to_empty(model_.tree.root()); }

  void share_shard(const Tensor& a, const Tensor& b) override {
    FsdpParam* const from = param_of(a);
    FsdpParam* const to = param_of(b);
    if (from && to) to->share_shard(*from);
  }

  Tensor loss_of(const family::Batch& batch) override {
    const Forward module = [this](const family::Batch& inputs) { return model_.forward(inputs); };
    return loss_([&](const family::Batch& inputs) { return forward(module, inputs); }, batch);
  }

  void call(const std::function<Outputs()>& module) override {
    FsdpState& root = *states_.front();
    root.root_before_forward();
    root.root_after_forward(module());
  }
  std::optional<DType> casts_inputs_to() const override {
    return states_.front()->casts_arguments_to();
  }

  void set_gradient_sync(bool is_last) override {
    const bool sync = is_last || options_.requires_gradient_sync;
    context_.is_last_backward = sync || !options_.tells_last_backward;
    for (const auto& state : states_)
      state->set_gradient_sync(sync, options_.reshard_after_backward);
  }

  bool updates_on_host() const override { return options_.cpu_offload; }

  Tensor clip_grad_norm(const std::vector<Tensor>& parameters) override {
    if (options_.mesh.size("shard") == 1) return DrivenModel::clip_grad_norm(parameters);
    return torch::clip_grad_norm(parameters, [](const Tensor& norms) { return reduced(norms); });
  }

  void unshard() override {
    for (ParamGroup* group : groups_by_module()) group->unshard(Gather::now);
  }
  void wait_for_unshard() override {
    for (ParamGroup* group : groups_by_module()) group->wait_for_unshard();
  }
  void reshard() override {
    for (ParamGroup* group : groups_by_module()) group->reshard();
  }
  void reduce_gradients() override {
    set_gradient_sync(true);
    for (ParamGroup* group : groups_by_module()) group->post_backward();
    states_.front()->final_callback();
  }

  torch::StaticBytes statics() override {
    torch::StaticBytes statics = whole_;
    statics.parameter_bytes = 0;
    std::unordered_set<const ghost::TensorImpl*> seen;
    for (const auto& state : states_)
      if (state->group())
        for (const FsdpParam& param : state->group()->params)
          if (seen.insert(param.sharded.ptr().get()).second)
            statics.parameter_bytes += param.sharded.nbytes();
    return statics;
  }

 private:
  FsdpParam* param_of(const Tensor& unsharded) {
    const auto found = params_.find(unsharded.ptr().get());
    return found == params_.end() ? nullptr : found->second;
  }

  /// _NormPartial._reduce_value (torch/distributed/tensor/_ops/_math_ops.py): the sum over ranks of
  /// their norms' powers, a tensor of its own, and its root.
  static Tensor reduced(const Tensor& norms) {
    const Tensor powers = norms.pow(2.0);
    const Tensor sums = powers.clone();
    return sums.pow(0.5);
  }

  /// _lazy_init: the root first, then in the order of root.named_modules().
  void list_states() {
    context_.all_states.push_back(states_.front().get());
    visit_modules(model_.tree.root(), [this](ModuleNode& module) {
      const auto found = wrapped_.find(&module);
      if (found == wrapped_.end()) return;
      auto& all = context_.all_states;
      if (std::find(all.begin(), all.end(), found->second) == all.end())
        all.push_back(found->second);
    });
  }
  std::vector<ParamGroup*> groups_by_module() const {
    std::vector<ParamGroup*> groups;
    for (const FsdpState* state : context_.all_states)
      if (state->group()) groups.push_back(state->group());
    return groups;
  }

  /// nn.Module._apply: what the children hold first.
  void to_empty(const ModuleNode& module) {
    for (const ModuleNode* child : module.children) to_empty(*child);
    const ghost::ScopeGuard scope(module.scope);
    for (const ModuleNode::Named& parameter : module.parameters)
      if (FsdpParam* const param = param_of(parameter.tensor)) param->to_empty();
    torch::move_buffers_to_device(module);
  }

  /// The states so far are those of the layers.
  void prefetch_layers() {
    const auto count = static_cast<std::int64_t>(states_.size());
    const auto layer = [this](std::int64_t i) -> FsdpState& { return *states_[std::size_t(i)]; };
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t n = 1; n <= options_.forward_prefetch && i + n < count; ++n)
        layer(i).prefetch_in_forward(layer(i + n));
      for (std::int64_t n = 1; n <= options_.backward_prefetch && i - n >= 0; ++n)
        layer(i).prefetch_in_backward(layer(i - n));
    }
  }

  /// A layer and, before it, the unit inside of it.
  void shard_layer(ModuleNode& layer) {
    FsdpState* inner = nullptr;
    if (options_.inner)
      for (const nn::NamedModule& module : nn::named_modules(layer)) {
        if (module.node->name != options_.inner->module) continue;
        Options options = options_;
        options.mesh = options_.inner->mesh;
        options.shard_dim = options_.inner->shard_dim;
        options.divides_gradients = true;
        shard({module.node}, options);
        inner = states_.back().get();
      }
    shard({&layer});
    layers_.push_back({states_.back().get(), inner});
  }

  void prefetch_inner_units() {
    const auto count = layers_.size();
    if (layers_.empty()) return;
    if (embedding_) embedding_->prefetch_in_forward(*layers_.front().layer);
    if (tail_) tail_->prefetch_in_backward(*layers_.back().layer);
    for (std::size_t i = 0; i < count; ++i) {
      FsdpState& layer = *layers_[i].layer;
      if (i + 1 < count) {
        layer.prefetch_in_forward(*layers_[i + 1].layer);
        if (layers_[i + 1].inner) layer.prefetch_in_forward(*layers_[i + 1].inner);
      } else if (tail_) {
        layer.prefetch_in_forward(*tail_);
      }
      if (i > 0) {
        layer.prefetch_in_backward(*layers_[i - 1].layer);
        if (layers_[i - 1].inner) layer.prefetch_in_backward(*layers_[i - 1].inner);
      } else if (embedding_) {
        layer.prefetch_in_backward(*embedding_);
      }
    }
  }

  /// fully_shard(modules).
  void shard(std::vector<ModuleNode*> modules) { shard(std::move(modules), options_); }
  void shard(std::vector<ModuleNode*> modules, const Options& options) {
    std::vector<Tensor> parameters;
    std::vector<const ModuleNode*> managed;
    for (ModuleNode* module : modules) collect(*module, managed, parameters);
    torch::move_states_to_device(managed);
    auto group =
        parameters.empty() ? nullptr : std::make_unique<ParamGroup>(parameters, rank_, options);
    if (group)
      for (FsdpParam& param : group->params) params_.emplace(param.unsharded.ptr().get(), &param);
    states_.push_back(std::make_unique<FsdpState>(context_, modules.size(), std::move(group),
                                                  options_.mixed_precision));
    for (std::size_t i = 0; i < modules.size(); ++i) {
      wrapped_.emplace(modules[i], states_.back().get());
      modules[i]->hooks.push_back(&states_.back()->module(i));
    }
  }

  /// _get_managed_modules and _get_managed_states: children before their parent, units of their own
  /// left out.
  void collect(ModuleNode& module, std::vector<const ModuleNode*>& managed,
               std::vector<Tensor>& found) {
    for (ModuleNode* child : module.children)
      if (!wrapped_.contains(child)) collect(*child, managed, found);
    managed.push_back(&module);
    for (const ModuleNode::Named& parameter : module.parameters) {
      const Tensor& tensor = parameter.tensor;
      if (options_.ignores_integers && !tensor.is_floating_point()) continue;
      if (managed_.insert(tensor.ptr().get()).second) found.push_back(tensor);
    }
  }

  void shard_ends() {
    ModuleNode *embedding = nullptr, *norm = nullptr, *head = nullptr;
    for (const nn::NamedModule& module : nn::named_modules(model_.tree.root())) {
      if (module.node->embedding && torch::is_input_embedding(*module.node) && !embedding)
        embedding = module.node;
      const bool hidden = options_.is_peft_model && module.name.starts_with("model.");
      const bool inside_layer = module.name.find(".layers.") != std::string::npos;
      if (!hidden && !inside_layer &&
          std::find(kFinalNorms.begin(), kFinalNorms.end(), module.node->name) != kFinalNorms.end())
        norm = module.node;
      if (module.name == torch::language_model_head(model_)) head = module.node;
    }
    options_.ends == WrappedEnds::apart ? shard_apart(embedding, norm, head)
                                        : shard_as_accelerate(embedding, norm, head);
  }

  void shard_apart(ModuleNode* embedding, ModuleNode* norm, ModuleNode* head) {
    if (!options_.is_stage && (!embedding || !norm || !head)) {
      ghost::session().fail({ErrorKind::unsupported, "no embedding, final norm and head to wrap",
                             "--strategy: wrap_ends", "false"});
      return;
    }
    check_one_embedding(embedding);
    if (embedding && head && !options_.ties_shards) untie(*embedding, *head);
    if (embedding) {
      shard({embedding});
      embedding_ = states_.back().get();
    }
    if (!norm || !head) return;
    shard({norm, head});
    tail_ = states_.back().get();
    if (!options_.reshard_after_forward && states_.back()->group())
      states_.back()->group()->keep_unsharded_after_forward();  // torchtitan's default policy
  }

  void check_one_embedding(const ModuleNode* embedding) const {
    for (const nn::NamedModule& module : nn::named_modules(model_.tree.root()))
      if (embedding && module.node != embedding && module.node->embedding &&
          shares_weight(*embedding, *module.node))
        ghost::session().fail(
            {ErrorKind::unsupported,
             "the ends of a model whose stacks share an embedding are not modelled",
             "--strategy: wrap_ends", "false"});
  }

  /// Shards take the place of the embedding's weight alone: a head that was tied to it keeps the
  /// old parameter, which is sharded as one of its own.
  static void untie(const ModuleNode& embedding, ModuleNode& head) {
    if (!shares_weight(embedding, head) || !head.projection) return;
    const Tensor table = head.projection->weight;
    const Tensor own = ghost::alias(table, table.sizes(), table.strides());
    own.impl().base.reset();
    own.impl().requires_grad = table.requires_grad();
    nn::replace_weight(*head.projection, own);
  }

  /// The copy that peft trains of either (modules_to_save) is tied to nothing.
  static bool shares_weight(const ModuleNode& embedding, const ModuleNode& head) {
    return !embedding.parameters.empty() && !head.parameters.empty() &&
           embedding.parameters.front().tensor.ptr() == head.parameters.front().tensor.ptr();
  }

  /// What of them the model has.
  void shard_as_accelerate(ModuleNode* embedding, ModuleNode* norm, ModuleNode* head) {
    const bool tied = embedding && head && shares_weight(*embedding, *head);
    if (embedding && !tied) shard({embedding});
    std::vector<ModuleNode*> tail;
    for (ModuleNode* module : {norm, tied ? embedding : nullptr, head})
      if (module) tail.push_back(module);
    if (tail.empty()) return;
    shard(std::move(tail));
    if (states_.back()->group()) states_.back()->group()->keep_unsharded_after_forward();
  }

  Options options_;
  std::int64_t rank_;
  LossProgram loss_;
  torch::StaticBytes whole_;
  struct LayerUnits {
    FsdpState *layer, *inner;
  };

  StateContext context_;
  std::vector<std::unique_ptr<FsdpState>> states_;
  std::vector<LayerUnits> layers_;
  FsdpState *embedding_ = nullptr, *tail_ = nullptr;
  std::unordered_map<const ModuleNode*, FsdpState*> wrapped_;
  std::unordered_set<const ghost::TensorImpl*> managed_;
  std::unordered_map<const ghost::TensorImpl*, FsdpParam*> params_;  ///< by what they shard
};

}  // namespace

std::unique_ptr<ShardedProgram> shard_model(family::PretrainedModel& model, const Options& options,
                                            std::int64_t rank) {
  return shard_model(model, options, rank, [](const Forward& forward, const family::Batch& batch) {
    return forward(batch).loss;
  });
}

std::unique_ptr<ShardedProgram> shard_model(family::PretrainedModel& model, const Options& options,
                                            std::int64_t rank, LossProgram loss) {
  return std::make_unique<ShardedModel>(model, options, rank, std::move(loss));
}

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank) {
  if (const Result<void> fine = check_optimizer_over_shards(recipe); !fine)
    return tl::unexpected(fine.error());
  const auto wrap = [&](family::PretrainedModel& model) -> std::unique_ptr<torch::DrivenModel> {
    if (torch::init_device(recipe) != InitDevice::meta) return shard_model(model, options, rank);
    auto sharded = [&] {
      const ghost::HostGuard meta;
      return shard_model(model, options, rank);
    }();
    sharded->to_empty();
    return sharded;
  };
  return torch::run_wrapped(config, recipe, device, wrap);
}

Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Options& options) {
  ghost::Session session({}, recipe.release);
  const ghost::HostGuard nothing_is_taken;
  const auto model = torch::build_model(config, recipe);
  if (!model) return tl::unexpected(model.error());
  std::vector<std::int64_t> rows;
  for (const Tensor& parameter : nn::parameters((*model)->tree.root()))
    if (parameter.dim() > 0) rows.push_back(parameter.size(0));
  session.finished = true;
  return rank_classes(std::move(rows), recipe.layout.gpus, options);
}

std::vector<torch::RankClass> rank_classes(std::vector<std::int64_t> rows, std::int64_t gpus,
                                           const Options& options) {
  std::sort(rows.begin(), rows.end());  // each once: those decide how shards differ
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const std::int64_t shards = options.mesh.size("shard");
  std::map<std::vector<std::int64_t>, torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < gpus; ++rank) {
    std::vector<std::int64_t> held;
    for (std::int64_t length : rows)
      held.push_back(-shard(length, shards, options.mesh.coordinate(rank, "shard")));
    classes[held].ranks.push_back(static_cast<int>(rank));
  }
  std::vector<torch::RankClass> found;
  for (auto& [held, alike] : classes) found.push_back(std::move(alike));
  return found;
}

}  // namespace memtape::fsdp2
