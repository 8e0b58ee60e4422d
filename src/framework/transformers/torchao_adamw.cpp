// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/torchao_adamw.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/session.h"

namespace memtape::transformers {
namespace {

constexpr std::int64_t kTorchaoBlockSize = 256, kFewestElements = 4096;
constexpr std::size_t kParts = 3;  ///< codes, scale, qmap
/// The learning rate is a tensor, which accelerate takes to the GPU with the state
/// (prepare_optimizer) and the scheduler copies: initial_lr, base_lrs and _last_lr of each group.
constexpr int kGroups = 2, kLearningRates = 4;

ghost::Tensor state(std::int64_t count, DType dtype) {
  return ghost::zeros({count}, dtype, Category::optimizer_state);
}

}  // namespace

TorchaoAdamW::TorchaoAdamW(torch::TensorList parameters, int bits)
    : Optimizer(std::move(parameters)),
      bits_(bits),
      exp_avg_(kParts * parameters_.size()),
      exp_avg_sq_(kParts * parameters_.size()) {
  for (int i = 0; i < kGroups * kLearningRates; ++i)
    learning_rates_.push_back(ghost::zeros({}, DType::float32, Category::buffer));
}

bool TorchaoAdamW::is_in_codes(std::size_t place) const {
  const std::int64_t count = parameters_[place].numel();
  return count >= kFewestElements && count % kTorchaoBlockSize == 0;
}

void TorchaoAdamW::new_buffer(torch::TensorList& list, std::size_t place) {
  const Tensor& p = parameters_[place];
  Tensor* const parts = &list[kParts * place];
  if (!is_in_codes(place)) {
    parts[0] = ghost::zeros_like(p, Category::optimizer_state);
    return;
  }
  parts[0] = state(p.numel() * bits_ / 8, DType::uint8);
  parts[1] = state(p.numel() / kTorchaoBlockSize, DType::float32);
  parts[2] = state(std::int64_t{1} << bits_, DType::float32);
}

void TorchaoAdamW::step_over(const torch::Places& places) {
  for (const std::size_t place : places) {
    if (!exp_avg_[kParts * place].defined()) {
      new_buffer(exp_avg_, place);
      new_buffer(exp_avg_sq_, place);
    }
    if (!is_in_codes(place)) continue;
    const ghost::Op op("single_param_adam", {});
    const std::int64_t count = parameters_[place].numel();
    const Tensor scale = ghost::empty({count / kTorchaoBlockSize}, DType::float32);
    const Tensor scale_sq = ghost::empty({count / kTorchaoBlockSize}, DType::float32);
    const Tensor exp_avg_f32 = ghost::empty({count}, DType::float32);
    const Tensor exp_avg_sq_f32 = ghost::empty({count}, DType::float32);
    if (bits_ == 8) continue;
    const Tensor codes = ghost::empty({count}, DType::int64);  // before two go into a byte
    const Tensor codes_sq = ghost::empty({count}, DType::int64);
  }
}

}  // namespace memtape::transformers
