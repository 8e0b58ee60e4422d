// SPDX-License-Identifier: Apache-2.0
// The dtype of a checkpoint's weights, as its configuration states it: "dtype", or "torch_dtype"
// before transformers 4.56.
#pragma once

#include "base/dtype.h"
#include "base/result.h"
#include "model/config.h"

namespace memtape {

/// float32 if the configuration names none, as torch's default is. A name that is no type is an
/// error, also one in its text_config.
Result<DType> stored_dtype(const Config& config);

}  // namespace memtape
