// SPDX-License-Identifier: Apache-2.0
#include "framework/torch/inductor/graph.h"

#include <utility>

namespace memtape::torch::inductor {

ValueId Graph::add(Value value) {
  value.backward = in_backward_;
  value.scope = scope_;
  value.nodes = std::exchange(nodes_, 0);
  values_.push_back(std::move(value));
  return values_.size() - 1;
}

ValueId Graph::input(const char* op, const Dims& sizes, DType dtype) {
  return add({.kind = Value::Kind::input, .op = op, .sizes = sizes, .dtype = dtype, .reads = {}});
}

ValueId Graph::kernel(const char* op, const Dims& sizes, DType dtype, std::vector<ValueId> reads) {
  return add({.op = op, .sizes = sizes, .dtype = dtype, .reads = std::move(reads)});
}

ValueId Graph::fused(const char* op, const Dims& sizes, DType dtype, std::vector<ValueId> reads) {
  return add({.kind = Value::Kind::fused,
              .op = op,
              .sizes = sizes,
              .dtype = dtype,
              .reads = std::move(reads)});
}

ValueId Graph::view(const Dims& sizes, ValueId of) {
  return add({.kind = Value::Kind::view,
              .op = "view",
              .sizes = sizes,
              .dtype = values_[of].dtype,
              .reads = {of}});
}

ValueId Graph::reduction(const char* op, const Dims& sizes, DType dtype,
                         std::vector<ValueId> reads) {
  return add({.kind = Value::Kind::reduction,
              .op = op,
              .sizes = sizes,
              .dtype = dtype,
              .reads = std::move(reads)});
}

}  // namespace memtape::torch::inductor
