// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/bitsandbytes_optimizer.h"

#include "ghost/ops/creation.h"
#include "ghost/session.h"

namespace memtape::transformers {
namespace {

using ghost::Dims;

constexpr std::int64_t kMin8BitSize = 4096;  ///< min_8bit_size
constexpr std::int64_t kMinPaged = 100'000;  ///< get_state_buffer
constexpr std::int64_t kStateBlockSize = 256;
constexpr std::int64_t kStateMapSize = 256;  ///< create_dynamic_map

Tensor new_state(const Dims& sizes, DType dtype) {
  return ghost::zeros(sizes, dtype, Category::optimizer_state);
}

/// The slow and the fast average side by side (_get_state_double_buffer).
Dims doubled(const Dims& sizes) {
  Dims d = sizes;
  d.insert(0, 2);
  return d;
}

}  // namespace

BitsAndBytesOptimizer::BitsAndBytesOptimizer(torch::TensorList parameters,
                                             const BitsAndBytesOptim& optim,
                                             std::unordered_set<const ghost::TensorImpl*> in_32_bit)
    : Optimizer(std::move(parameters)),
      optim_(optim),
      in_32_bit_(std::move(in_32_bit)),
      initialized_(parameters_.size()),
      state1_(parameters_.size()),
      state2_(parameters_.size()),
      absmax1_(parameters_.size()),
      absmax2_(parameters_.size()) {}

Bytes BitsAndBytesOptimizer::state_bytes() const {
  Bytes bytes = Optimizer::state_bytes();
  for (const Tensor* map : {&dynamic_, &udynamic_})
    if (map->defined()) bytes += map->nbytes();
  return bytes;
}

void BitsAndBytesOptimizer::step_over(const torch::Places& places) {
  for (const std::size_t place : places)
    if (!initialized_[place]) init_state(place);
}

void BitsAndBytesOptimizer::init_state(std::size_t place) {
  initialized_[place] = true;
  const Tensor& p = parameters_[place];
  const bool bytes =
      optim_.bits == 8 && p.numel() >= kMin8BitSize && !in_32_bit_.contains(p.ptr().get());
  const DType dtype = bytes ? DType::uint8 : DType::float32;
  const bool maxima_first = optim_.algorithm == BitsAndBytesOptim::Algorithm::ademamix;
  if (bytes) move_maps();
  if (bytes && maxima_first) init_maxima(place);
  init_buffers(place, dtype);
  if (bytes && !maxima_first) init_maxima(place);
}

/// name2qmap[...].to(p.device), from the CPU the first time.
void BitsAndBytesOptimizer::move_maps() {
  if (dynamic_.defined()) return;
  dynamic_ = new_state({kStateMapSize}, DType::float32);
  if (optim_.algorithm != BitsAndBytesOptim::Algorithm::lion)
    udynamic_ = new_state({kStateMapSize}, DType::float32);
}

void BitsAndBytesOptimizer::init_maxima(std::size_t place) {
  const std::int64_t blocks = (parameters_[place].numel() + kStateBlockSize - 1) / kStateBlockSize;
  switch (optim_.algorithm) {
    case BitsAndBytesOptim::Algorithm::lion:
      absmax1_[place] = new_state({blocks}, DType::float32);
      return;
    case BitsAndBytesOptim::Algorithm::adamw:
      absmax1_[place] = new_state({blocks}, DType::float32);
      break;
    case BitsAndBytesOptim::Algorithm::ademamix:
      absmax1_[place] = new_state({2, blocks}, DType::float32);
      break;
  }
  absmax2_[place] = new_state({blocks}, DType::float32);
}

void BitsAndBytesOptimizer::init_buffers(std::size_t place, DType dtype) {
  const Tensor& p = parameters_[place];
  const bool paged = optim_.paged && p.numel() >= kMinPaged;
  const bool twice = optim_.algorithm == BitsAndBytesOptim::Algorithm::ademamix;
  state1_[place] = buffer(twice ? doubled(p.sizes()) : p.sizes(), dtype, paged);
  if (optim_.algorithm != BitsAndBytesOptim::Algorithm::lion)
    state2_[place] = buffer(p.sizes(), dtype, paged);
}

Tensor BitsAndBytesOptimizer::buffer(const Dims& sizes, DType dtype, bool paged) {
  if (!paged) return new_state(sizes, dtype);
  managed_bytes_ += bytes_of(dtype, ghost::numel(sizes));
  return {};
}

}  // namespace memtape::transformers
