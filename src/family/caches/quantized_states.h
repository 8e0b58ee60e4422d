// SPDX-License-Identifier: Apache-2.0
// QuantizedStates: the keys or values of one layer in 4 or 2 bits. transformers' QuantizedCache
// holds them so with optimum-quanto 0.2.7 (cache_utils.py QuantoQuantizedLayer;
// optimum/quanto/tensor optimizers/max_optimizer.py, library/quantize.py, packed.py, qbits.py): as
// packed numbers with a scale and a shift for each group.
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

class QuantizedStates {
 public:
  /// cache_config, with QuantizedCache's defaults. An axis is 0 or -1.
  struct Settings {
    std::int64_t nbits = 4, axis_key = 0, axis_value = 0, q_group_size = 64, residual_length = 128;
  };

  /// quantize_weight(states, ...)
  void quantize(const Tensor& states, std::int64_t axis, const Settings& settings);
  /// qtensor.dequantize()
  Tensor dequantize() const;

 private:
  Tensor packed_, scale_, shift_;
  Dims sizes_;
  std::int64_t axis_ = 0, per_byte_ = 1;
};

}  // namespace memtape::family
