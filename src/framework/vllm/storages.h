// SPDX-License-Identifier: Apache-2.0
// The bytes of a model's weights: each storage of its parameters and buffers counts once. The
// session that made them must be alive.
#pragma once

#include "base/bytes.h"
#include "nn/module.h"

namespace memtape::vllm {

struct StorageBytes {
  Bytes all = 0;         ///< of parameters and buffers
  Bytes parameters = 0;  ///< of parameters
};

StorageBytes storages_of(const nn::ModuleNode& root);

}  // namespace memtape::vllm
