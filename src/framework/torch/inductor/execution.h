// SPDX-License-Identifier: Apache-2.0
// Execution: one half of the generated code as it runs: buffers by value, each dropped behind its
// last reader. Inputs may be left undefined: they belong to the caller, and are only read.
#pragma once

#include <vector>

#include "framework/torch/inductor/graph.h"
#include "framework/torch/inductor/schedule.h"

namespace memtape::torch::inductor {

using Buffers = std::vector<Tensor>;

class Execution {
 public:
  /// `kept` outlive the half.
  Execution(const Graph& graph, Buffers buffers, const std::vector<ValueId>& kept);

  Buffers run(const std::vector<Step>& steps);

 private:
  static constexpr std::size_t kForever = ~std::size_t{0};

  void make(const Step& step, std::size_t at);
  /// In place of an operand of its size that ends here.
  bool takes_over_buffer(const Step& step, std::size_t at);

  const Graph& graph_;
  Buffers buffers_;
  std::vector<std::size_t> last_;  ///< step after which a buffer goes; 0: nobody reads it
};

}  // namespace memtape::torch::inductor
