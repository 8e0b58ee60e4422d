// SPDX-License-Identifier: Apache-2.0
// AdapterReads: peft's lora.Linear asks for the dtype of lora_A's weight between its own product
// and the adapter's (_cast_input_dtype of tuners/lora/layer.py). If ZeRO 3 has partitioned that
// weight, it is gathered at once and becomes an external parameter of the lora.Linear
// (ZeROOrderedDict of deepspeed/runtime/zero/parameter_offload.py). From then on it is gathered
// before the layer's own weight.
#pragma once

#include "framework/deepspeed/module_hooks.h"
#include "framework/deepspeed/zero_param.h"
#include "framework/torch/lora_layer.h"
#include "ghost/autograd/node.h"
#include "ghost/session.h"

namespace memtape::deepspeed {

/// The hooks of the base layer in a lora.Linear. `owner` has the hooks of the lora.Linear itself.
class AdapterReads final : public nn::ForwardHooks {
 public:
  AdapterReads(const torch::LoraLinear& adapter, ZeroParam& read, ModuleHooks& owner,
               const GatherOptions& gather)
      : adapter_(adapter), read_(read), owner_(owner), gather_(gather) {}

  void before_forward(Tensor&) override {}
  void after_forward(Tensor&) override {
    if (ghost::session().skipping || !adapter_.enabled || read_.is_available()) return;
    const ghost::GradMode no_grad(false);
    all_gather({&read_}, gather_);
    owner_.add_external(read_);
  }

 private:
  const torch::LoraLinear& adapter_;
  ZeroParam& read_;
  ModuleHooks& owner_;
  GatherOptions gather_;
};

}  // namespace memtape::deepspeed
