// SPDX-License-Identifier: Apache-2.0
#include "nn/module_init.h"

#include <algorithm>

#include "ghost/session.h"

namespace memtape::nn {

Tensor ModuleInit::empty(const Dims& sizes, DType dtype) {
  return ghost::empty(sizes, dtype, Category::parameter);
}

void ModuleInit::begin(ModuleNode& parent, ModuleNode& module) {
  go_on(parent);
  running_.push_back(&module);
}

void ModuleInit::go_on(ModuleNode& module) {
  if (std::ranges::find(running_, &module) == running_.end()) {
    running_.push_back(&module);
    return;
  }
  while (running_.back() != &module) {
    after_init(*running_.back());
    running_.pop_back();
  }
}

void ModuleInit::end(ModuleNode& module) {
  go_on(module);
  after_init(module);
  running_.pop_back();
}

void ModuleInit::finish() {
  for (; !running_.empty(); running_.pop_back()) after_init(*running_.back());
}

}  // namespace memtape::nn
