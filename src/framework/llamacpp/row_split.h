// SPDX-License-Identifier: Apache-2.0
// RowSplit: how --split-mode row spreads matrices over GPUs (ggml-cuda.cu, get_row_split and the
// split buffers). Each GPU has a range of the rows of each matrix in an allocation of its own, and
// the GPU of the layer has all that is no matrix.
#pragma once

#include <vector>

#include "framework/llamacpp/settings.h"
#include "framework/llamacpp/weights.h"

namespace memtape::llamacpp {

class RowSplit {
 public:
  explicit RowSplit(const Settings& settings);

  std::int64_t rows(const Weight& weight, int gpu) const;
  /// Those of the rows, and what pads the last one for kernels that read whole blocks.
  Bytes bytes(const Weight& weight, int gpu) const;
  /// What CUDA gives for an allocation of as many bytes: whole pages, unless it shares one.
  static Bytes held(Bytes bytes);

 private:
  std::int64_t first_row(std::int64_t rows, int gpu) const;

  std::vector<float> begins_;  ///< where the share of each GPU begins, as parts of one
  std::int64_t rounding_;
};

}  // namespace memtape::llamacpp
