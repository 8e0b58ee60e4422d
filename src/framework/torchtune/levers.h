// SPDX-License-Identifier: Apache-2.0
// What torchtune's recipes (0.6.1) can be asked for beside what all trainers can, by the names of
// their configurations: --strategy '{"packed": true, "compile": true, ...}'.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/result.h"
#include "framework/torch/optimizer.h"
#include "release/version.h"

namespace memtape {
class Config;
struct TrainRecipe;
}  // namespace memtape

namespace memtape::torchtune {

/// A difference between two releases of torchtune that changes memory.
struct Change {
  Version since;            ///< the first release that has it
  std::string_view what;    ///< what is true since then
  std::string_view source;  ///< the commit
};

inline constexpr Change kNormIsFunctional{
    {0, 5, 0},
    "Norms call F.rms_norm on float32 and cast its result; before, they spelled the formula out.",
    "modules/rms_norm.py of commit 1450d6126"};

/// `loss` of a configuration: logits in chunks, or one tensor of them in float32.
enum class Loss : std::uint8_t { ce_with_chunked_output, cross_entropy };

/// `optimizer` of a configuration where it is no class of torch.optim: of bitsandbytes, or
/// torchao's.
enum class OptimizerClass : std::uint8_t {
  of_torch,
  adamw_8bit,
  paged_adamw,
  paged_adamw_8bit,
  torchao_adamw_8bit,
  torchao_adamw_4bit,
};

inline constexpr std::int64_t kOutputChunks = 8;  ///< CEWithChunkedOutputLoss.num_output_chunks

struct Levers {
  Version version{0, 6, 1};
  bool is_packed = false;     ///< dataset.packed: rows have positions and a mask by documents
  bool compiles = false;      ///< compile: each layer, and the loss
  bool offloads = false;      ///< enable_activation_offloading
  bool steps_in_bwd = false;  ///< optimizer_in_bwd
  Loss loss = Loss::ce_with_chunked_output;
  OptimizerClass optimizer = OptimizerClass::of_torch;

  bool has(const Change& change) const { return version >= change.since; }
};

/// Reads --strategy into the recipe's own part.
Result<void> read_strategy(std::string_view json, TrainRecipe& recipe);

/// What the recipes themselves refuse (recipes/full_finetune_single_device.py, __init__).
Result<void> check_levers(const TrainRecipe& recipe);

/// The recipe with torchtune's own defaults: adapters of queries and values.
TrainRecipe resolved(TrainRecipe recipe, const Config& config);

/// The optimizer of the configuration for parameters in the order of model.parameters().
std::unique_ptr<torch::Optimizer> make_optimizer(const TrainRecipe& recipe,
                                                 torch::TensorList parameters);

}  // namespace memtape::torchtune
