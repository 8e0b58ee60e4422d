// SPDX-License-Identifier: Apache-2.0
// What FSDP's root does with a batch: it casts images and spectrograms to the dtype of the
// parameters (_cast_forward_inputs of torch/distributed/utils.py, _cast_fp_tensor of _fully_shard).
#pragma once

#include <optional>

#include "family/pretrained.h"

namespace memtape::torch {

inline family::Batch cast_batch(family::Batch batch, std::optional<DType> dtype) {
  if (!dtype) return batch;
  for (ghost::Tensor* tensor : {&batch.pixel_values, &batch.input_features})
    if (tensor->defined() && tensor->dtype() != *dtype) *tensor = tensor->to(*dtype);
  return batch;
}

}  // namespace memtape::torch
