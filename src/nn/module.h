// SPDX-License-Identifier: Apache-2.0
// Module: torch.nn.Module's bones: a place in the module tree, parameters and buffers by name, and
// a call that keeps its argument alive until it returns (nn.Module.__call__ holds its arguments in
// a tuple) and then drops it.
//
// A family writes
//
//   class LlamaMLP : public Module<LlamaMLP> { ... Tensor forward(const Tensor& x); };
//
// and calls `mlp(hidden_states)`. Members are constructed in the order of their declaration, as
// __init__ assigns them: parameters are allocated in that order.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ghost/session.h"
#include "ghost/tensor.h"
#include "nn/tensors_of.h"

namespace memtape::nn {

using ghost::Dims;
using ghost::In;
using ghost::Tensor;

class Embedding;
class Projection;

/// Hooks around a module's forward (register_forward_pre_hook, register_forward_hook). They may
/// replace its first argument, or its (first) result.
class ForwardHooks {
 public:
  virtual ~ForwardHooks() = default;
  /// Sees each tensor that the module is called with, including the first, before everything else.
  virtual void before_argument(Tensor&) {}
  virtual void before_forward(Tensor& input) = 0;
  virtual void after_forward(Tensor& output) = 0;
  /// Sees each further tensor of a result with several.
  virtual void after_further_output(Tensor&) {}
};

/// Shows the tensors of a result to hooks, the first one first.
template <class Result>
void show_output(ForwardHooks& hook, Result& result) {
  if constexpr (HoldsTensors<Result>) {
    bool is_first = true;
    visit_tensors(result, [&](Tensor& output) {
      if (std::exchange(is_first, false))
        hook.after_forward(output);
      else if (output.defined())
        hook.after_further_output(output);
    });
  } else {
    ghost::session().fail({ErrorKind::unsupported,
                           "a framework that hooks into a module of this kind", "--framework",
                           "torch"});
  }
}

/// A forward with which a library replaces a module's own (`module.forward =
/// types.MethodType(...)`). Only modules that make one tensor from one can have it.
class ForwardPatch {
 public:
  virtual ~ForwardPatch() = default;
  virtual Tensor forward(const Tensor& x) = 0;
};

/// One module of the tree: what named_parameters(), named_buffers() and named_modules() walk.
struct ModuleNode {
  std::string name;
  ScopeId scope = 0;
  std::vector<ModuleNode*> children;
  struct Named {
    std::string name;
    Tensor tensor;
  };
  std::vector<Named> parameters;
  std::vector<Named> buffers;
  Projection* projection = nullptr;  ///< set if an adapter can be put here
  Embedding* embedding = nullptr;
  bool is_layer =
      false;  ///< a unit of the layer stack, by which wrap policies and checkpointing go
  std::vector<ForwardHooks*> hooks;
  bool layer_norm = false;  ///< an nn.LayerNorm, to which Trainer applies no weight decay
  std::unique_ptr<ForwardPatch> patch;
};

/// model.named_parameters(): depth first in order of registration, a shared tensor once, under its
/// first name.
std::vector<ModuleNode::Named> named_parameters(const ModuleNode& root, std::string prefix = {});

/// model.parameters(): the same tensors without their names.
std::vector<Tensor> parameters(const ModuleNode& root);

/// model.named_modules() without the root itself.
struct NamedModule {
  std::string name;
  ModuleNode* node;
};
std::vector<NamedModule> named_modules(ModuleNode& root);

/// model.gradient_checkpointing_enable({"use_reentrant": ...}), or not.
enum class GradientCheckpointing { off, non_reentrant, reentrant };

/// All modules of a model, and the dtype in which its parameters are made (torch.set_default_dtype
/// while __init__ runs).
class ModuleTree {
 public:
  explicit ModuleTree(DType parameter_dtype);
  ModuleTree(const ModuleTree&) = delete;
  ModuleTree& operator=(const ModuleTree&) = delete;
  ~ModuleTree();

  GradientCheckpointing gradient_checkpointing = GradientCheckpointing::off;

  DType dtype() const { return dtype_; }
  ModuleNode& root() { return *nodes_.front(); }
  ModuleNode& add(ModuleNode& parent, std::string name);

 private:
  DType dtype_;
  std::vector<std::unique_ptr<ModuleNode>> nodes_;
};

/// The place where a module is being built: `scope / "mlp"` is the place of its child.
class Scope {
 public:
  Scope(ModuleTree& tree, ModuleNode& node) : tree_(&tree), node_(&node) {}
  Scope operator/(std::string_view child) const {
    return {*tree_, tree_->add(*node_, std::string(child))};
  }
  Scope operator/(std::int64_t index) const { return *this / std::to_string(index); }

  /// nn.Parameter(torch.empty(sizes)): trainable, in the model's dtype.
  Tensor parameter(std::string_view name, const Dims& sizes) const;
  /// nn.Parameter of a given dtype.
  Tensor parameter(std::string_view name, const Dims& sizes, DType dtype) const;
  /// register_buffer(name, tensor).
  void buffer(std::string_view name, const Tensor& tensor) const;

  ModuleNode& node() const { return *node_; }
  ModuleTree& tree() const { return *tree_; }
  DType dtype() const { return tree_->dtype(); }

 private:
  ModuleTree* tree_;
  ModuleNode* node_;
};

/// An argument as hooks may change it: arguments that hold tensors are copied for the call.
template <class Argument>
using HeldArgument = std::conditional_t<HoldsTensors<std::remove_cvref_t<Argument>> &&
                                            (std::is_rvalue_reference_v<Argument&&> ||
                                             std::is_const_v<std::remove_reference_t<Argument>>),
                                        std::remove_cvref_t<Argument>, Argument&&>;

template <class... Held>
void show_arguments(ForwardHooks& hook, Tensor& input, std::tuple<Held...>& others) {
  const auto show = [&hook](Tensor& argument) {
    if (argument.defined()) hook.before_argument(argument);
  };
  show(input);
  const auto show_held = [&show]<class Argument>(Argument& held) {
    if constexpr (HoldsTensors<Argument>) visit_tensors(held, show);
  };
  std::apply([&](auto&... held) { (show_held(held), ...); }, others);
}

template <class Self>
class Module {
 public:
  explicit Module(const Scope& scope) : node_(&scope.node()) {}
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Self::forward(*x, rest...), with the blocks it makes billed to this module.
  template <class... Rest>
  auto operator()(const In& x, Rest&&... rest) {
    const ghost::ScopeGuard guard(node_->scope);
    if (!node_->hooks.empty()) return hooked(x, std::forward<Rest>(rest)...);
    auto out = patched_forward(*x, std::forward<Rest>(rest)...);
    x.release();
    return out;
  }

  ModuleNode& node() const { return *node_; }

 private:
  template <class... Rest>
  auto hooked(const In& x, Rest&&... rest) {
    Tensor input = *x;
    std::tuple<HeldArgument<Rest>...> others(std::forward<Rest>(rest)...);
    for (ForwardHooks* hook : node_->hooks) {
      show_arguments(*hook, input, others);
      hook->before_forward(input);
    }
    auto out = std::apply(
        [&](auto&... held) { return patched_forward(input, static_cast<Rest&&>(held)...); },
        others);
    for (ForwardHooks* hook : node_->hooks) show_output(*hook, out);
    x.release();
    return out;
  }

  template <class... Rest>
  auto patched_forward(const Tensor& x, Rest&&... rest) {
    Self& self = *static_cast<Self*>(this);
    using Output = decltype(self.forward(x, std::forward<Rest>(rest)...));
    if constexpr (sizeof...(Rest) == 0 && std::is_same_v<Output, Tensor>)
      if (node_->patch) return node_->patch->forward(x);
    return self.forward(x, std::forward<Rest>(rest)...);
  }

  ModuleNode* node_;
};

/// The number of a module in its ModuleList, for a constructor that asks for it. ModuleList makes
/// no other argument of it, neither a size nor a flag.
struct ListIndex {
  ListIndex(std::int64_t index) : value(index) {}
  operator std::int64_t() const { return value; }
  std::int64_t value;
};

/// What a constructor can take as a ListIndex and as nothing else.
struct ToListIndex {
  operator ListIndex() const { return {value}; }
  std::int64_t value;
};

/// nn.ModuleList: `count` modules named by their number. T is made with (scope, args...) or, if its
/// constructor ends with a ListIndex, (scope, args..., index).
template <class T>
class ModuleList {
 public:
  template <class... Args>
  ModuleList(const Scope& scope, std::int64_t count, const Args&... args) {
    for (std::int64_t i = 0; i < count; ++i) {
      const Scope place = scope / i;
      nodes_.push_back(&place.node());
      if constexpr (std::is_constructible_v<T, const Scope&, const Args&..., ToListIndex>)
        modules_.emplace_back(place, args..., ListIndex(i));
      else
        modules_.emplace_back(place, args...);
    }
  }
  auto begin() { return modules_.begin(); }
  auto end() { return modules_.end(); }
  std::size_t size() const { return modules_.size(); }
  T& operator[](std::size_t i) { return modules_[i]; }
  /// The modules' places in the tree.
  std::span<const ModuleNode* const> nodes() const { return nodes_; }

 private:
  std::deque<T> modules_;
  std::vector<const ModuleNode*> nodes_;
};

}  // namespace memtape::nn
