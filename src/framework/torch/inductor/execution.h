// SPDX-License-Identifier: Apache-2.0
// Execution: runs one half of the generated code. It keeps a buffer for each value and drops it
// after its last reader. Inputs may be left undefined, because they belong to the caller and are
// only read.
#pragma once

#include <vector>

#include "framework/torch/inductor/graph.h"
#include "framework/torch/inductor/schedule.h"

namespace memtape::torch::inductor {

using Buffers = std::vector<Tensor>;

class Execution {
 public:
  /// The buffers in `kept` outlive the half.
  Execution(const Graph& graph, Buffers buffers, const std::vector<ValueId>& kept);

  Buffers run(const std::vector<Step>& steps);

 private:
  static constexpr std::size_t kForever = ~std::size_t{0};

  void make(const Step& step, std::size_t at);
  /// Whether the step takes over the buffer of an operand of the same size that ends here.
  bool takes_over_buffer(const Step& step, std::size_t at);

  const Graph& graph_;
  Buffers buffers_;
  std::vector<std::size_t> last_;  ///< the step after which a buffer goes; 0: nobody reads it
};

}  // namespace memtape::torch::inductor
