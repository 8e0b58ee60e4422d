// SPDX-License-Identifier: Apache-2.0
// How from_pretrained (transformers 5.17, core_model_loading.py, modeling_utils.py) brings the
// tensors of a model that was made without memory to the GPU.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "framework/torch_tp/plan.h"
#include "model/config.h"
#include "nn/module.h"

namespace memtape::transformers {

/// dot_natural_key: the order in which tensors arrive.
bool loads_before(std::string_view a, std::string_view b);

/// get_total_byte_count: the bytes that will be loaded, tensor by tensor. In a distributed program,
/// a tensor that transformers' plan for tensor parallelism names counts divided by the number of
/// ranks, although nothing is divided.
class BytesToLoad {
 public:
  BytesToLoad(const Config& config, std::int64_t ranks);
  void add(std::string_view name, Bytes bytes);
  Bytes total() const { return total_; }

 private:
  std::int64_t ranks_;
  torch_tp::Plan plan_;
  Bytes total_ = 0;
};

/// caching_allocator_warmup of a quantized model: takes one block of the size that will be loaded,
/// and gives it back.
void warm_up_allocator(Bytes bytes);

void take_memory(const ghost::Tensor& tensor, Category category);

/// The modules to which loaded tensors belong, so that a report can name them: loading itself runs in
/// none.
class Places {
 public:
  explicit Places(nn::ModuleNode& root);
  /// Of a tensor with that name, such as "model.norm.weight".
  ScopeId of(std::string_view name) const;

 private:
  std::map<std::string, ScopeId, std::less<>> modules_;
};

/// Allocates the buffers that no checkpoint holds.
void take_buffers(const nn::ModuleNode& node);

}  // namespace memtape::transformers
