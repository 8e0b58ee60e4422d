// SPDX-License-Identifier: Apache-2.0
// ModuleInit: what a library does to each module when its __init__ has returned, because the
// library wraps the __init__ of all module classes. The children of the module have been through it
// by then. An __init__ counts as returned as soon as the tree grows outside of its module.
#pragma once

#include <cstddef>
#include <vector>

#include "ghost/given.h"
#include "nn/module.h"

namespace memtape::nn {

class ModuleInit {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::module_init;
  ModuleInit() = default;
  virtual ~ModuleInit() = default;
  ModuleInit(const ModuleInit&) = delete;
  ModuleInit& operator=(const ModuleInit&) = delete;

  /// A module begins inside its parent.
  void begin(ModuleNode& parent, ModuleNode& module);
  /// A module's own __init__ goes on, so those of its children have returned.
  void go_on(ModuleNode& module);
  /// The __init__ of this module has returned, whatever follows.
  void end(ModuleNode& module);
  /// All of them have returned.
  void finish();

  /// transformers' _init_weights of the modules inside `module` and of itself, whose family does
  /// more there than draw weights, and so says when.
  virtual void draw(ModuleNode& /*module*/) {}
  /// nn.Parameter(torch.empty(sizes))
  virtual Tensor empty(const Dims& sizes, DType dtype);

 protected:
  /// May be called more than once for one module.
  virtual void after_init(ModuleNode& module) = 0;
  /// In after_init: how many modules the one that returned lies in, so 0 for the model itself.
  std::size_t depth() const { return running_.size() - 1; }

 private:
  std::vector<ModuleNode*> running_;  ///< the innermost last
};

/// Keeps a ModuleInit in force for as long as this lives, and then finishes it.
class ModuleInitInForce {
 public:
  explicit ModuleInitInForce(ModuleInit& init) : init_(init), given_(&init) {}
  ~ModuleInitInForce() { init_.finish(); }
  ModuleInitInForce(const ModuleInitInForce&) = delete;
  ModuleInitInForce& operator=(const ModuleInitInForce&) = delete;

 private:
  ModuleInit& init_;
  ghost::Given<ModuleInit> given_;
};

}  // namespace memtape::nn
