// SPDX-License-Identifier: Apache-2.0
#include "framework/deepspeed/zero_group.h"

#include <numeric>
#include <utility>

#include "framework/deepspeed/flat_tensors.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"
#include "release/trainer_changes.h"
#include "timeline/play.h"

namespace memtape::deepspeed {
namespace {

FlatLayout layout_of(const std::vector<Tensor>& parameters, const DsConfig& config, Rank rank) {
  std::vector<std::int64_t> numels;
  for (const Tensor& p : parameters) numels.push_back(p.numel());
  const int bytes = bits(parameters.front().dtype()) / 8;
  return {numels, rank.world_size, config.zero.parameter_alignment ? 16 / std::gcd(16, bytes) : 1};
}

/// accelerator.available_memory(): what the segments of the program so far leave of the device.
Bytes available_memory(Bytes of_allocator) {
  const std::unique_ptr<Driver> driver = make_driver(DriverPlacement::linux_regions);
  CachingAllocator allocator(*driver);
  Played played;
  play(ghost::session().tape, allocator, played);
  return of_allocator - allocator.reserved();
}

}  // namespace

ZeroGroup::ZeroGroup(std::vector<Tensor> parameters, std::size_t first, const DsConfig& config,
                     Rank rank)
    : parameters_(std::move(parameters)),
      first_(first),
      config_(config),
      rank_(rank),
      layout_(layout_of(parameters_, config, rank)) {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (layout_.piece(i, rank_.index)) in_partition_.push_back(first_ + i);
  flat_ = flattened();
  make_master();
}

Tensor ZeroGroup::flattened() const {
  if (!ghost::has(changes::kZeroFlattensOnDevice)) return flatten_by_host(parameters_, layout_);
  ghost::Session& session = ghost::session();
  session.tape.empty_cache();
  const Bytes bytes = bytes_of(parameters_.front().dtype(), layout_.numel());
  const std::optional<Bytes> limit = session.device.memory;
  if (limit && available_memory(*limit) < bytes) return flatten_by_host(parameters_, layout_);
  return flatten_parameters(parameters_, layout_);
}

void ZeroGroup::make_master() {
  const ghost::GradMode no_grad(false);
  const std::int64_t size = partition_size();
  const Tensor partition = narrow(flat_, size * rank_.index, size).clone();
  const ghost::HostGuard host(config_.zero.offload_optimizer);
  master_ = config_.zero.offload_optimizer ? ghost::empty({size}, DType::float32)
                                           : partition.to(DType::float32);
  ghost::session().set_category(master_, Category::optimizer_state);
  master_.impl().requires_grad = true;
}

std::int64_t ZeroGroup::elements_in_partition() const {
  std::int64_t total = 0;
  for (std::size_t i : in_partition_) total += parameters_[i - first_].numel();
  return total;
}

Tensor ZeroGroup::compact_slice(const Piece& piece) {
  if (!averaged_flat_.defined())
    averaged_flat_ = ghost::zeros({partition_size()}, config_.grad_accum_dtype, Category::gradient);
  return narrow(averaged_flat_, piece.in_partition, piece.elements);
}

/// get_flat_partition: this rank's pieces of the gradients, and zeros where there are none.
std::vector<Tensor> ZeroGroup::flat_partition() const {
  std::vector<Tensor> pieces;
  std::int64_t end = 0;
  for (std::size_t k = 0; k < in_partition_.size(); ++k) {
    const Piece held = *piece(in_partition_[k]);
    if (held.in_partition > end)
      pieces.push_back(ghost::zeros({held.in_partition - end}, config_.grad_accum_dtype));
    pieces.push_back(narrow(all_grads_[k], held.in_parameter, held.elements));
    end = held.in_partition + held.elements;
  }
  if (end < partition_size())
    pieces.push_back(ghost::zeros({partition_size() - end}, config_.grad_accum_dtype));
  return pieces;
}

std::vector<Tensor> ZeroGroup::averaged() const {
  return averaged_flat_.defined() ? normed() : averaged_;
}

std::vector<Tensor> ZeroGroup::normed() const {
  std::vector<Tensor> gradients;
  const Tensor& whole = averaged_flat_;
  if (averaged_.empty() && !whole.defined()) return gradients;
  std::size_t at = 0;
  std::int64_t end = 0;
  for (std::size_t i : in_partition_) {
    const Piece held = *piece(i);
    if (!whole.defined() && held.in_partition > end) ++at;
    gradients.push_back(whole.defined() ? narrow(whole, held.in_partition, held.elements)
                                        : averaged_[at++]);
    end = held.in_partition + held.elements;
  }
  return gradients;
}

void ZeroGroup::take_gradient() {
  {
    Tensor flat = averaged_flat_.defined() ? averaged_flat_ : flatten(averaged_);
    const Tensor gradient = std::move(flat).to(DType::float32);
    ghost::session().set_category(gradient, Category::gradient);
    master_.impl().grad = gradient.ptr();
  }
  drop_averaged();
}

void ZeroGroup::drop_averaged() {
  averaged_.clear();
  averaged_flat_.reset();
}

}  // namespace memtape::deepspeed
