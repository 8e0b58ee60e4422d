// SPDX-License-Identifier: Apache-2.0
// quantize_moe_experts of axolotl (0.19, monkeypatch/moe_quant.py): the weights of experts, which
// bitsandbytes leaves as they are because they are no linear layers, are quantized to 4 bits as
// they arrive. They are read through bitsandbytes' parametrization (0.50, nn/parametrize.py), which
// dequantizes the weights of all experts of a layer for each forward.
#pragma once

#include <string_view>

#include "nn/module.h"

namespace memtape::transformers::axolotl {

/// Whether axolotl quantizes a parameter: one of three dimensions, of experts.
bool is_of_experts(std::string_view name, const ghost::Tensor& parameter);

/// Quantizes a parameter of the module. It returns how many elements its size no longer shows.
std::int64_t quantize_experts(nn::ModuleNode& module, const ghost::Tensor& parameter,
                              ghost::Tensor& dynamic_map);

}  // namespace memtape::transformers::axolotl
