// SPDX-License-Identifier: Apache-2.0
// Choices about a training step that all frameworks have in common, under the names of the command
// line: number formats, what is recomputed, attention, where the model is made, and the optimizer.
#pragma once

#include <cstdint>

namespace memtape {

enum class Precision { fp32, bf16, fp16, amp_bf16, amp_fp16 };
/// Products in 8 or 4 bits (--fp8-format hybrid, --fp8-recipe mxfp8 and --fp4-format of Megatron;
/// torchtitan's converters).
enum class LowBits : std::uint8_t { fp8, mxfp8, nvfp4 };
/// `selective` recomputes parts of a layer, or only some layers, as Megatron and torchtitan do.
/// `layer` is torch.utils.checkpoint around each layer of a pipeline's stage.
enum class Checkpointing { none, full, full_reentrant, selective, layer };
enum class AttentionChoice { eager, sdpa, flash };
/// Where a program makes its model before it is moved to the GPU: on the GPU itself, in host
/// memory, or without data.
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
