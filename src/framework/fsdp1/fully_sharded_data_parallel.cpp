// SPDX-License-Identifier: Apache-2.0
#include "framework/fsdp1/fully_sharded_data_parallel.h"

#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "framework/ddp/broadcast.h"
#include "framework/fsdp1/flat_layout.h"
#include "framework/fsdp1/fsdp_state.h"
#include "framework/torch/init_device.h"
#include "framework/torch/model_setup.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/session.h"
#include "mesh/shards.h"

namespace memtape::fsdp1 {
namespace {

using nn::ModuleNode;

constexpr std::string_view kCopies = "modules_to_save";

/// A module that is wrapped, and the parameters that its flat tensor holds.
struct Unit {
  ModuleNode* module = nullptr;
  ModuleNode* called = nullptr;  ///< the one with whose forward it runs
  std::vector<Tensor> parameters;
  bool shares_parameters = false;  ///< one of them is the parameter of two modules
};

/// A ModuleList, which nobody calls.
bool is_list(const ModuleNode& module) {
  return !module.children.empty() && module.children.front()->name == "0";
}

bool is_trained_leaf(const ModuleNode& module) {
  if (!module.children.empty()) return false;
  for (const ModuleNode::Named& parameter : module.parameters)
    if (parameter.name == "weight") return parameter.tensor.requires_grad();
  return false;
}

/// What ignored_modules names.
bool is_adapter(const ModuleNode& module) {
  return module.name == "lora_A" || module.name == "lora_B";
}

/// The units of a model: its layers and what else a policy names in them, then the rest of it.
class Units {
 public:
  Units(ModuleNode& root, const Options& options)
      : wraps_layers_(options.wraps_layers),
        wraps_leaves_(options.wraps_trained_leaves),
        ignores_adapters_(options.ignores_adapters) {
    for (ModuleNode* child : root.children)
      options.min_num_params ? void(wrap_by_size(*child, *options.min_num_params))
                             : wrap(*child, *child);
    add(root, root);
  }
  std::vector<Unit> take() { return std::move(units_); }

 private:
  /// _recursive_wrap: children before their parent. The copy that peft trains of a module
  /// (modules_to_save.default) runs when that is called.
  void wrap(ModuleNode& module, ModuleNode& called) {
    if (ignores_adapters_ && is_adapter(module)) return;
    const bool holds_copies = module.name == kCopies;
    for (ModuleNode* child : module.children)
      wrap(*child, holds_copies ? called : child->name == kCopies ? module : *child);
    if ((wraps_layers_ && module.is_layer) || (wraps_leaves_ && is_trained_leaf(module)))
      add(module, called);
  }

  /// The same of size_based_auto_wrap_policy; gives the number of parameters that units hold.
  std::int64_t wrap_by_size(ModuleNode& module, std::int64_t least) {
    std::int64_t numel = 0, wrapped = 0;
    for (const Tensor& parameter : nn::parameters(module)) numel += parameter.numel();
    if (numel < least) return 0;
    for (ModuleNode* child : module.children) wrapped += wrap_by_size(*child, least);
    if (numel - wrapped < least || is_list(module)) return wrapped;
    add(module, module);
    return numel;
  }

  void add(ModuleNode& module, ModuleNode& called) {
    Unit unit{.module = &module, .called = &called, .parameters = {}};
    collect(module, unit);
    wrapped_.insert(&module);
    units_.push_back(std::move(unit));
  }

  /// The module's parameters that no unit inside it holds, in the order of named_modules().
  void collect(ModuleNode& module, Unit& unit) {
    if (ignores_adapters_ && is_adapter(module)) return;
    for (const ModuleNode::Named& parameter : module.parameters)
      if (managed_.insert(parameter.tensor.ptr().get()).second)
        unit.parameters.push_back(parameter.tensor);
      else
        unit.shares_parameters = true;
    for (ModuleNode* child : module.children)
      if (!wrapped_.contains(child)) collect(*child, unit);
  }

  bool wraps_layers_, wraps_leaves_, ignores_adapters_;
  std::vector<Unit> units_;
  std::unordered_set<const ModuleNode*> wrapped_;
  std::unordered_set<const ghost::TensorImpl*> managed_;
};

class FullyShardedDataParallel final : public torch::DrivenModel {
 public:
  FullyShardedDataParallel(family::PretrainedModel& model, const Options& options,
                           std::int64_t rank)
      : DrivenModel(model), shared_(options), rank_(rank), whole_(torch::count_statics(model)) {
    ModuleNode& root = model.tree.root();
    shared_.recomputes_layers =
        model.tree.gradient_checkpointing == nn::GradientCheckpointing::non_reentrant;
    const std::vector<Unit> units = Units(root, options).take();
    for (const Unit& unit : units) wrap(unit, unit.module == &root);
    shared_.all_states.push_back(states_.back().get());
    for (std::size_t i = 0; i + 1 < states_.size(); ++i)
      shared_.all_states.push_back(states_[i].get());
    collect_buffers(root);
    if (options.upcasts_trainable)
      for (FsdpState* state : shared_.all_states)
        if (state->handle()) state->handle()->upcast();
  }

  std::vector<Tensor> parameters() override {
    std::vector<Tensor> found;
    if (!shared_.options.use_orig_params) {
      for (FsdpState* state : shared_.all_states)
        if (state->handle() && state->handle()->flat.requires_grad())
          found.push_back(state->handle()->flat);
      return found;
    }
    std::unordered_map<const ghost::TensorImpl*, Tensor> pieces;
    for (const auto& state : states_)
      if (state->handle())
        for (const FlatHandle::OrigParam& orig : state->handle()->orig_params)
          pieces.emplace(orig.parameter.ptr().get(), orig.piece);
    for (const ModuleNode::Named& p : nn::named_parameters(model_.tree.root()))
      if (const Tensor& piece = pieces.try_emplace(p.tensor.ptr().get(), p.tensor).first->second;
          piece.requires_grad())
        found.push_back(piece);
    return found;
  }

  std::shared_ptr<void> summon_root() { return shared_.all_states.front()->summon(buffers_); }

  void call(const std::function<Outputs()>& module) override {
    FsdpState& root = *shared_.all_states.front();
    root.root_pre_forward(buffers_);
    root.pre_forward(nullptr);
    root.post_forward(module());
  }
  std::optional<DType> casts_inputs_to() const override {
    return shared_.options.cast_root_forward_inputs ? shared_.options.param_dtype : std::nullopt;
  }

  void set_gradient_sync(bool sync) override {
    shared_.sync_gradients = sync || !shared_.options.no_sync;
  }

  bool updates_on_host() const override { return shared_.options.cpu_offload; }

  /// FullyShardedDataParallel.clip_grad_norm_: a norm a gradient, then the norm of the norms.
  Tensor clip_grad_norm(const std::vector<Tensor>& parameters) override {
    const ghost::GradMode no_grad(false);
    if (!zero_scalar_.defined()) {
      const ghost::HostGuard device(false);
      const ghost::Op op("_to_copy", {});
      zero_scalar_ = ghost::empty({}, DType::float32, Category::buffer);
    }
    if (!shared_.options.is_sharded()) return DrivenModel::clip_grad_norm(parameters);
    const Tensor local = local_norm_of(parameters);
    Tensor total_norm;
    {  // the ranks' norms meet on the device, wherever the gradients are
      const ghost::HostGuard device(false);
      total_norm = local.pow(2.0);
      total_norm = total_norm.pow(0.5);
    }
    const Tensor clip_coef = ghost::rdiv(1.0, total_norm.add(1e-6));
    const Tensor clip_coef_clamped = ghost::clamp(clip_coef, {.max = 1.0});
    for (const Tensor& parameter : parameters)
      if (parameter.impl().grad)
        const Tensor in_its_dtype = clip_coef_clamped.to(parameter.grad().dtype());
    return total_norm;
  }

  torch::StaticBytes statics() override {
    torch::StaticBytes statics = whole_;
    statics.parameter_bytes = 0;
    for (const auto& state : states_)
      if (state->handle()) statics.parameter_bytes += state->handle()->held_bytes();
    statics.parameter_bytes += ignored_bytes();
    statics.buffer_bytes = 0;
    for (const ModuleNode::Named* buffer : buffers_)
      statics.buffer_bytes += buffer->tensor.nbytes();
    return statics;
  }

 private:
  Bytes ignored_bytes() const {
    Bytes bytes = 0;
    if (!shared_.options.ignores_adapters) return bytes;
    for (const nn::NamedModule& module : nn::named_modules(model_.tree.root()))
      if (is_adapter(*module.node))
        for (const Tensor& parameter : nn::parameters(*module.node)) bytes += parameter.nbytes();
    return bytes;
  }

  /// _get_grad_norm, brought to the device.
  Tensor local_norm_of(const std::vector<Tensor>& parameters) const {
    std::vector<Tensor> norms;
    for (const Tensor& parameter : parameters)
      if (parameter.impl().grad) norms.push_back(ghost::vector_norm(parameter.grad()).unsqueeze(0));
    if (norms.empty()) return zero_scalar_;
    Tensor joined = ghost::cat(norms, 0);
    norms.clear();
    Tensor norm = ghost::vector_norm(std::move(joined));
    if (!shared_.options.cpu_offload) return norm;
    const ghost::HostGuard device(false);
    const ghost::Op op("_to_copy", {});
    return ghost::empty({}, DType::float32);
  }

  void wrap(const Unit& unit, bool is_root) {
    torch::move_states_to_device(unwrapped_modules(*unit.module));
    wrapped_.insert(unit.module);
    if (shared_.options.sync_module_states) sync_module_states(*unit.module, unit.parameters);
    auto handle = unit.parameters.empty()
                      ? nullptr
                      : std::make_unique<FlatHandle>(unit.parameters, rank_, shared_.options);
    if (handle) handle->shares_parameters = unit.shares_parameters;
    states_.push_back(std::make_unique<FsdpState>(shared_, std::move(handle), is_root));
    if (!is_root) unit.called->hooks.push_back(states_.back().get());
  }

  /// The module and those below it that no unit holds, level by level (_move_module_to_device).
  std::vector<const ModuleNode*> unwrapped_modules(const ModuleNode& module) const {
    std::vector<const ModuleNode*> found{&module};
    for (std::size_t i = 0; i < found.size(); ++i)
      for (const ModuleNode* child : found[i]->children)
        if (!wrapped_.contains(child)) found.push_back(child);
    return found;
  }

  /// _sync_module_params_and_buffers: buffers that no unit inside has had broadcast come first.
  void sync_module_states(const ModuleNode& module, const std::vector<Tensor>& parameters) {
    std::vector<Tensor> states;
    collect_unsynced(module, states);
    states.insert(states.end(), parameters.begin(), parameters.end());
    ddp::broadcast_coalesced(states);
  }

  void collect_unsynced(const ModuleNode& module, std::vector<Tensor>& found) {
    for (const ModuleNode::Named& buffer : module.buffers)
      if (synced_.insert(buffer.tensor.ptr().get()).second) found.push_back(buffer.tensor);
    for (const ModuleNode* child : module.children) collect_unsynced(*child, found);
  }

  void collect_buffers(ModuleNode& module) {
    for (ModuleNode::Named& buffer : module.buffers) buffers_.push_back(&buffer);
    for (ModuleNode* child : module.children) collect_buffers(*child);
  }

  SharedState shared_;
  std::int64_t rank_;
  torch::StaticBytes whole_;
  std::vector<std::unique_ptr<FsdpState>> states_;
  std::vector<ModuleNode::Named*> buffers_;
  std::unordered_set<const ModuleNode*> wrapped_;
  std::unordered_set<const ghost::TensorImpl*> synced_;  ///< buffers that were broadcast
  Tensor zero_scalar_;
};

}  // namespace

std::unique_ptr<torch::DrivenModel> shard_model(family::PretrainedModel& model,
                                                const Options& options, std::int64_t rank) {
  return std::make_unique<FullyShardedDataParallel>(model, options, rank);
}

std::shared_ptr<void> summon_root(torch::DrivenModel& wrapped) {
  return static_cast<FullyShardedDataParallel&>(wrapped).summon_root();
}

Result<torch::TrainRun> run_training(const Config& config, const TrainRecipe& recipe,
                                     const Options& options, const ghost::DeviceTraits& device,
                                     int rank) {
  const auto wrap = [&](family::PretrainedModel& model) -> std::unique_ptr<torch::DrivenModel> {
    return shard_model(model, options, rank);
  };
  return torch::run_wrapped(config, recipe, device, wrap);
}

namespace {

/// Layouts of a model's units, by which ranks are told apart.
class HeldParts {
 public:
  HeldParts(ModuleNode& root, const Options& options)
      : shards_(options.is_sharded() ? options.mesh.size("shard") : 1),
        by_parameter_(options.use_orig_params) {
    for (const Unit& unit : Units(root, options).take()) {
      if (unit.parameters.empty()) continue;
      std::vector<std::int64_t> sizes;
      for (const Tensor& parameter : unit.parameters) sizes.push_back(parameter.numel());
      const DType own = unit.parameters.front().dtype();
      layouts_.push_back(flat_layout(sizes, options, options.param_dtype.value_or(own)));
    }
  }

  /// What shard number `index` holds of each unit: of all its parameters together, or of each one
  /// that it has a part of. Which parameters those are makes no difference to memory.
  std::vector<std::int64_t> of(std::int64_t index) const {
    std::vector<std::int64_t> held;
    for (const FlatLayout& layout : layouts_) {
      const std::int64_t local = padded_shard(layout.numel, shards_), first = index * local;
      held.push_back(-shard(layout.numel, shards_, index));
      std::int64_t sum = 0;
      for (const FlatLayout::Part& part : layout.within(first, first + local)) {
        sum += part.length();
        if (by_parameter_ && part.length() > 0) held.push_back(part.length());
      }
      held.push_back(-sum);
    }
    return held;
  }

  std::int64_t shards() const { return shards_; }

 private:
  std::int64_t shards_;
  bool by_parameter_;
  std::vector<FlatLayout> layouts_;
};

}  // namespace

Result<std::vector<torch::RankClass>> rank_classes(const Config& config, const TrainRecipe& recipe,
                                                   const Options& options) {
  ghost::Session session({}, recipe.release);
  const ghost::HostGuard nothing_is_taken;
  const auto model = torch::build_model(config, recipe);
  if (!model) return tl::unexpected(model.error());
  session.finished = true;
  return rank_classes((*model)->tree.root(), recipe.layout.gpus, options);
}

std::vector<torch::RankClass> rank_classes(ModuleNode& root, std::int64_t gpus,
                                           const Options& options) {
  const HeldParts parts(root, options);
  std::vector<std::vector<std::int64_t>> held;
  for (std::int64_t index = 0; index < parts.shards(); ++index) held.push_back(parts.of(index));
  std::map<std::vector<std::int64_t>, torch::RankClass> classes;
  for (std::int64_t rank = 0; rank < gpus; ++rank) {
    const std::int64_t index = options.mesh.coordinate(rank, "shard") % parts.shards();
    classes[held[static_cast<std::size_t>(index)]].ranks.push_back(static_cast<int>(rank));
  }
  std::vector<torch::RankClass> found;
  for (auto& [same, alike] : classes) found.push_back(std::move(alike));
  return found;
}

}  // namespace memtape::fsdp1
