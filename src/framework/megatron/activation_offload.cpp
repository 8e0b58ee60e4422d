// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/activation_offload.h"

#include <algorithm>
#include <set>
#include <utility>

#include "framework/megatron/function.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/views.h"

namespace memtape::megatron {
namespace {

using ghost::Gradients;
using ghost::StreamGuard;

/// x as a function's output that is its input.
Tensor same(const Tensor& x) {
  Tensor output = ghost::alias(x, x.sizes(), x.strides());
  output.impl().base.reset();
  return output;
}

}  // namespace

ActivationOffload::ActivationOffload(const Arguments& a)
    : least_(a.min_offloaded_tensor_size),
      to_host_(ghost::session().make_stream()),
      to_device_(ghost::session().make_stream()),
      stages_(static_cast<std::size_t>(a.vpp)) {}

bool ActivationOffload::Chunk::has(std::string_view module, std::size_t from) const {
  return std::any_of(groups.begin() + static_cast<std::ptrdiff_t>(std::min(from, groups.size())),
                     groups.end(), [&](const Group& group) { return group.name == module; });
}

bool ActivationOffload::Chunk::is_through(std::string_view module) const {
  if (to_reload.empty() && to_offload.empty() && reached > 0) return true;
  return !has(module, reached);
}

/// The chunks of all virtual stages in the order of their backward passes.
void ActivationOffload::flush() {
  if (stages_.front().size() != stages_.back().size()) return;
  stages_.back().clear();
  for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
    backward_order_.insert(backward_order_.end(), stage->begin(), stage->end());
    stage->clear();
  }
}

void ActivationOffload::begin_chunk(std::size_t virtual_stage) {
  if (!learns_) return;
  const bool last = virtual_stage + 1 == stages_.size();
  if (last) flush();
  forward_ = &chunks_.emplace_back();
  stages_[virtual_stage].push_back(forward_);
  if (!last) return;
  backward_order_.push_back(forward_);
  flush();
}

/// post_warmup_callback: the last group of each name stays.
void ActivationOffload::learn() {
  learns_ = false;
  std::size_t most = 0;  // kinds of groups in a chunk
  for (const Chunk& chunk : chunks_) {
    std::set<std::string_view> names;
    for (const Group& group : chunk.groups) names.insert(group.name);
    most = std::max(most, names.size());
  }
  std::vector<Group*> last;  // of each name, in the order in which names come up
  for (auto chunk = backward_order_.rbegin(); chunk != backward_order_.rend(); ++chunk)
    for (Group& group : (*chunk)->groups) {
      const auto known = std::ranges::find(last, group.name, &Group::name);
      if (known == last.end())
        last.push_back(&group);
      else
        *known = &group;
    }
  for (std::size_t i = 0; i < std::min(most, last.size()); ++i) last[i]->goes = false;
}

void ActivationOffload::end_step() {
  if (learns_ && !chunks_.empty()) learn();
  forward_ = backward_ = nullptr;
  next_forward_ = next_backward_ = 0;
  for (Chunk& chunk : chunks_) {
    chunk.reached = 0;
    chunk.to_offload.clear();
    chunk.to_reload.clear();
    for (Group& group : chunk.groups) group.saved.clear();
  }
}

ActivationOffload::Chunk* ActivationOffload::forward_chunk(std::string_view module) {
  while (!learns_ && (!forward_ || forward_->is_through(module)))
    forward_ = next_forward_ < chunks_.size() ? &chunks_[next_forward_++] : nullptr;
  return forward_;
}

/// front_backward_chunk; without a name any that has groups.
ActivationOffload::Chunk* ActivationOffload::next_backward_chunk(std::string_view module) {
  for (std::size_t i = next_backward_; i < backward_order_.size(); ++i) {
    Chunk* const chunk = backward_order_[i];
    if (module.empty() ? !chunk->groups.empty() : chunk->has(module, 0)) return chunk;
  }
  return nullptr;
}

void ActivationOffload::begin_group(Chunk& chunk, std::string_view module) {
  if (learns_) {
    chunk.groups.push_back({.name = module});
  } else {
    while (chunk.reached < chunk.groups.size() && chunk.groups[chunk.reached].name != module)
      ++chunk.reached;
  }
  chunk.to_offload.push_back(chunk.reached++);
}

ActivationOffload::Tensor ActivationOffload::start(const Tensor& x, std::string_view module) {
  Chunk* const chunk = forward_chunk(module);
  if (!chunk) return x;
  begin_group(*chunk, module);
  return apply({.name = "FineGrainedOffloadingGroupStartFunctionBackward",
                .inputs = {x},
                .forward = [&](ToSave&) { return same(x); },
                .backward =
                    [this, chunk](std::span<const Tensor>, const Tensor& grad, Gradients& out) {
                      reload_next(*chunk);
                      out[0] = grad;
                    }});
}

ActivationOffload::Tensor ActivationOffload::commit(const Tensor& x, std::string_view module,
                                                    const std::vector<Tensor>& released) {
  Chunk* const chunk = forward_;
  if (!chunk) return x;
  offload(*chunk, released);
  return apply(
      {.name = "FineGrainedOffloadingGroupCommitFunctionBackward",
       .inputs = {x},
       .forward = [&](ToSave&) { return same(x); },
       .backward =
           [this, chunk, module](std::span<const Tensor>, const Tensor& grad, Gradients& out) {
             while (backward_ != chunk && next_backward_ < backward_order_.size()) {
               Chunk* const next = backward_order_[next_backward_++];
               if (next->has(module, 0)) backward_ = next;
             }
             out[0] = grad;
           }});
}

/// should_bulk_offload.
bool ActivationOffload::goes_to_host(const Chunk& chunk) {
  const Group& group = chunk.groups[chunk.to_offload.back()];
  if (learns_) return true;
  if (!group.goes) return false;
  return next_backward_chunk(group.name) != &chunk || chunk.has(group.name, chunk.reached);
}

/// tensor_need_offloading_checker. Parameters go, too: the mark that they should stay is on their
/// Python objects, and hooks get another of the same memory (SavedVariable's pack hook takes
/// detach()).
bool ActivationOffload::is_wanted(const Tensor& tensor) const {
  return tensor.numel() >= least_ && tensor.impl().storage;
}

/// The pools of host memory are not followed.
void ActivationOffload::copy_to_host(Saved& saved) const {
  const StreamGuard stream(to_host_);
  const Tensor source = saved.tensor.contiguous();
  {
    const ghost::HostGuard host;
    saved.on_host = ghost::empty(source.sizes(), source.dtype());
  }
  ghost::session().record_stream(saved.tensor, to_host_);
  saved.tensor.reset();
}

/// bulk_offload.
void ActivationOffload::offload(Chunk& chunk, const std::vector<Tensor>& released) {
  if (chunk.to_offload.empty() || !goes_to_host(chunk)) return;
  const std::size_t index = chunk.to_offload.back();
  chunk.to_offload.pop_back();
  chunk.to_reload.push_back(index);
  const Group& group = chunk.groups[index];
  for (const std::size_t handle : group.saved)
    if (saved_[handle].tensor.defined() && is_wanted(saved_[handle].tensor))
      copy_to_host(saved_[handle]);
  for (const Tensor& tensor : released)
    if (is_wanted(tensor)) ghost::session().release(*tensor.impl().storage);
}

ActivationOffload::Tensor ActivationOffload::copied_back(Saved& saved) {
  Tensor tensor = ghost::empty(saved.on_host.sizes(), saved.on_host.dtype(), Category::activation);
  tensor.impl().requires_grad = saved.requires_grad;
  saved.on_host.reset();
  return tensor;
}

/// bulk_reload_group.
void ActivationOffload::reload_group(Chunk& chunk) {
  const StreamGuard stream(to_device_);
  for (const std::size_t handle : chunk.groups[chunk.to_reload.back()].saved)
    if (saved_[handle].on_host.defined()) saved_[handle].tensor = copied_back(saved_[handle]);
  chunk.to_reload.pop_back();
}

/// bulk_reload: the group before, or the last of the chunk whose backward comes next.
void ActivationOffload::reload_next(Chunk& chunk) {
  if (!chunk.to_reload.empty()) return reload_group(chunk);
  Chunk* const next = next_backward_chunk({});
  if (next && next->reached == next->groups.size() && !next->to_reload.empty()) reload_group(*next);
}

std::int64_t ActivationOffload::pack(const Tensor& tensor) {
  if (!forward_ || forward_->to_offload.empty()) return -1;
  ghost::note_kept(tensor);
  forward_->groups[forward_->reached - 1].saved.push_back(saved_.size());
  saved_.push_back({.tensor = tensor, .on_host = {}, .requires_grad = tensor.requires_grad()});
  return static_cast<std::int64_t>(saved_.size() - 1);
}

ActivationOffload::Tensor ActivationOffload::unpack(std::int64_t handle) {
  Saved& saved = saved_[static_cast<std::size_t>(handle)];
  return saved.on_host.defined() ? copied_back(saved) : std::exchange(saved.tensor, {});
}

void ActivationOffload::drop(std::int64_t handle) {
  Saved& saved = saved_[static_cast<std::size_t>(handle)];
  saved.tensor.reset();
  saved.on_host.reset();
}

}  // namespace memtape::megatron
