// SPDX-License-Identifier: Apache-2.0
// FloatDraws: how transformers 5.8 gives a new model its first weights. PreTrainedModel._init_weights
// draws those of a Linear in `weight.float()`, which copies them where they are of a half type; the
// copy is given back at once. 5.7 and 5.9 draw in place. A model does it when its own __init__ ends
// (post_init), so an inner model's copies come before the head is made. Models whose _init_weights
// is their own, without PreTrainedModel's, draw in place in 5.8, too.
#pragma once

#include <string_view>
#include <unordered_set>

#include "nn/module_init.h"

namespace memtape::torch {

/// Whether PreTrainedModel._init_weights draws the weights of this type of model.
bool draws_as_all_do(std::string_view model_type);

class FloatDraws final : public nn::ModuleInit {
 public:
  void draw(nn::ModuleNode& module) override;

 protected:
  void after_init(nn::ModuleNode& module) override;

 private:
  std::unordered_set<const nn::ModuleNode*> drawn_;
};

}  // namespace memtape::torch
