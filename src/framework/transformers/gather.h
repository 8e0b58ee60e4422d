// SPDX-License-Identifier: Apache-2.0
// accelerate's collectives on tensors (accelerate 1.15, utils/operations.py), as one rank sees
// them.
#pragma once

#include "ghost/tensor.h"

namespace memtape::transformers {

/// gather: puts the rows of all ranks into one tensor; a number becomes a row. On one GPU it
/// returns the tensor itself.
ghost::Tensor gather(const ghost::Tensor& tensor, std::int64_t ranks);

/// gather(loss.repeat(rows)), which evaluations keep of the loss of a batch.
ghost::Tensor gather_repeated(const ghost::Tensor& loss, std::int64_t rows, std::int64_t ranks);

/// pad_across_processes(dim=1). All ranks have tensors of one size here, so nothing is padded; only
/// the exchange of sizes remains. Tensors without a dimension 1 skip even that.
void pad_across_processes(const ghost::Tensor& tensor, std::int64_t ranks);

}  // namespace memtape::transformers
