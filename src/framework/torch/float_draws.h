// SPDX-License-Identifier: Apache-2.0
// FloatDraws: how transformers 5.8 gives a new model its first weights. PreTrainedModel._init_weights
// draws those of a Linear in `weight.float()`, which copies them where they are of a half type; the
// copy is given back at once. 5.7 and 5.9 draw in place. A model does it when its own __init__ ends
// (post_init), so an inner model's copies come before the head is made.
#pragma once

#include <unordered_set>

#include "nn/module_init.h"

namespace memtape::torch {

class FloatDraws final : public nn::ModuleInit {
 protected:
  void after_init(nn::ModuleNode& module) override;

 private:
  void draw(nn::ModuleNode& module);

  std::unordered_set<const nn::ModuleNode*> drawn_;
};

}  // namespace memtape::torch
