// SPDX-License-Identifier: Apache-2.0
// ModuleInit: what a library does to each module when its __init__ has returned (it wraps the
// __init__ of all classes of modules): its children have been through it by then. An __init__ is
// taken to have returned when the tree grows outside of its module.
#pragma once

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

  /// A module begins inside of its parent.
  void begin(ModuleNode& parent, ModuleNode& module);
  /// A module's own __init__ goes on: those inside of it have returned.
  void go_on(ModuleNode& module);
  /// It has returned, whatever follows.
  void end(ModuleNode& module);
  /// All have returned.
  void finish();

  /// nn.Parameter(torch.empty(sizes))
  virtual Tensor empty(const Dims& sizes, DType dtype) = 0;

 protected:
  /// May be told of a module more than once.
  virtual void after_init(ModuleNode& module) = 0;

 private:
  std::vector<ModuleNode*> running_;  ///< the innermost last
};

/// Puts one in force while it lives.
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
