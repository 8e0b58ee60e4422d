// SPDX-License-Identifier: Apache-2.0
// StoredWeights: how the weights of a checkpoint lie on the GPU once from_pretrained has loaded it
// to be run and not to be trained, according to quantization_config in config.json and to what the
// GPU can do (transformers 5.17, quantizers/auto.py, quantizers/quantizer_NAME.py,
// integrations/NAME.py).
// Invariant: a method that is not modelled is answered in 16 bits, which is the most that it takes,
// and says how few bits it may take.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/result.h"
#include "framework/transformers/packed_checkpoint.h"
#include "mesh/gpu_catalog.h"
#include "workload/lora_recipe.h"

namespace memtape::transformers {

/// FP8Linear and FP8Experts: a float8 weight, and a scale for each block of it.
struct Float8Layout {
  std::int64_t block_rows = 128, block_columns = 128;  ///< 0: one scale for the whole weight
  DType scale = DType::float32;                        ///< uint8 stands for ue8m0
  bool packs_experts = false;  ///< experts are FP4 in rows of 32 (config.expert_dtype)
};

struct StoredWeights {
  enum class Kind : std::uint8_t { sixteen_bits, bitsandbytes, packed, float8, mxfp4 };
  Kind kind = Kind::sixteen_bits;
  QuantizationRecipe bitsandbytes = {};
  PackedCheckpoint packed = {};
  Float8Layout float8 = {};
  std::vector<std::string> not_converted = {};  ///< should_convert_module; empty: the head alone
  std::vector<std::string> assumed = {};        ///< sentences for the answer's warnings
  /// Of a method that is not modelled: the bits of a weight, at least. 16 if all is known.
  int least_bits = 16;
};

/// Without a GPU it is taken to be new enough for what the checkpoint holds.
Result<StoredWeights> stored_weights(const Config& config, const std::optional<Gpu>& gpu);

}  // namespace memtape::transformers
