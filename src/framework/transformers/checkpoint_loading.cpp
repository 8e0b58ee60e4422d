// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/checkpoint_loading.h"

#include <algorithm>
#include <utility>

#include "base/typed_number.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"
#include "release/trainer_changes.h"

namespace memtape::transformers {
namespace {

/// A part of a name as dot_natural_key orders it: numbers first, by value.
int compare_parts(std::string_view a, std::string_view b) {
  const std::int64_t x = whole_number(a).value_or(-1), y = whole_number(b).value_or(-1);
  if (x >= 0 && y >= 0) return x < y ? -1 : x > y;
  if ((x >= 0) != (y >= 0)) return x >= 0 ? -1 : 1;
  return a.compare(b);
}

}  // namespace

bool loads_before(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::size_t end_a = std::min(a.find('.'), a.size()),
                      end_b = std::min(b.find('.'), b.size());
    if (const int order = compare_parts(a.substr(0, end_a), b.substr(0, end_b))) return order < 0;
    a.remove_prefix(std::min(end_a + 1, a.size()));
    b.remove_prefix(std::min(end_b + 1, b.size()));
  }
  return a.empty() && !b.empty();
}

BytesToLoad::BytesToLoad(const Config& config, std::int64_t ranks) : ranks_(ranks) {
  if (Result<torch_tp::Plan> plan = torch_tp::hf_plan(config)) plan_ = std::move(*plan);
}

void BytesToLoad::add(std::string_view name, Bytes bytes) {
  const std::string_view module = name.substr(0, name.rfind('.'));
  const bool is_part_of_plan =
      torch_tp::planned_for(plan_, name) || torch_tp::planned_for(plan_, module);
  total_ += is_part_of_plan ? bytes / ranks_ : bytes;
}

namespace {

/// The most of the device's free memory that is warmed up.
Bytes most_of(Bytes free) {
  constexpr double kLeft = 1.2 * 1024 * 1024 * 1024, kShare = 0.95;
  const auto all = static_cast<double>(free);
  return static_cast<Bytes>(ghost::has(changes::kWarmUpLeavesRoom) ? std::max(0.0, all - kLeft)
                                                                   : kShare * all);
}

}  // namespace

void warm_up_allocator(Bytes bytes) {
  if (!ghost::has(changes::kQuantizedLoadingWarmsUp)) return;
  if (const auto free = ghost::session().device.memory) bytes = std::min(bytes, most_of(*free));
  const std::int64_t halved = ghost::has(changes::kWarmUpCountsPackedBytes) ? 1 : 2;
  const ghost::Tensor warmth = ghost::empty({bytes / (2 * halved)}, DType::float16);
}

void take_memory(const ghost::Tensor& tensor, Category category) {
  tensor.impl().storage =
      ghost::session().allocate(tensor.nbytes(), category, tensor.dtype(), tensor.sizes());
}

Places::Places(nn::ModuleNode& root) {
  for (const nn::NamedModule& module : nn::named_modules(root))
    modules_.emplace(module.name, module.node->scope);
}

ScopeId Places::of(std::string_view name) const {
  const auto found = modules_.find(name.substr(0, std::min(name.rfind('.'), name.size())));
  return found == modules_.end() ? ghost::session().scope : found->second;
}

void take_buffers(const nn::ModuleNode& node) {
  for (const nn::ModuleNode::Named& buffer : node.buffers)
    take_memory(buffer.tensor, Category::buffer);
  for (const nn::ModuleNode* child : node.children) take_buffers(*child);
}

}  // namespace memtape::transformers
