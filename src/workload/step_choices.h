// SPDX-License-Identifier: Apache-2.0
// Choices about a training step that every framework has in common, by the names of the command
// line: numbers, what is recomputed, attention, where the model is made, and the optimizer.
#pragma once

#include <cstdint>

namespace memtape {

enum class Precision { fp32, bf16, fp16, amp_bf16, amp_fp16 };
/// Products in 8 bits (Megatron's --fp8-format hybrid, and --fp8-recipe mxfp8).
enum class EightBits : std::uint8_t { fp8, mxfp8 };
/// `selective` recomputes parts of a layer or some layers, as Megatron and torchtitan do; `layer`
/// is torch.utils.checkpoint around each layer of a pipeline's stage.
enum class Checkpointing { none, full, full_reentrant, selective, layer };
enum class AttentionChoice { eager, sdpa, flash };
/// Where a program makes its model before it goes to the GPU: there, in host memory, or without
/// data.
enum class InitDevice : std::uint8_t { cuda, cpu, meta };

/// Which optimizer updates the parameters, and which of torch's implementations of it.
enum class OptimizerName {
  adamw,
  adam,
  sgd,
  sgd_momentum,
  adagrad,
  rmsprop,
  adamax,
  nadam,
  adafactor,
  adafactor_hf
};
enum class OptimizerImpl { fused, foreach, for_loop };

}  // namespace memtape
