// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/expert_parallel.h"

#include "ghost/autograd/function.h"
#include "ghost/autograd/selective_checkpoint.h"
#include "ghost/session.h"

namespace memtape::torchtitan {
namespace {

using ghost::Tensor;

constexpr const char* kName = "all_to_all_single";

Tensor with_rows(const Tensor& x, std::int64_t rows) {
  const ghost::Op op(kName, {});
  ghost::Dims sizes = x.sizes();
  sizes[0] = rows;
  return ghost::empty(sizes, x.dtype());
}

struct AllToAllSingleBackward final : ghost::Node {
  explicit AllToAllSingleBackward(std::int64_t input_rows)
      : Node("AllToAllSingleBackward"), rows(input_rows) {}
  void apply(ghost::Gradients& in, ghost::Gradients& out) override {
    const Tensor packed = in[0].contiguous();
    out[0] = with_rows(packed, rows);
  }
  void release() override {}
  std::int64_t rows;
};

}  // namespace

Tensor all_to_all_single(const Tensor& x, std::int64_t rows) {
  const auto node = ghost::function_node<AllToAllSingleBackward>({&x}, x.size(0));
  const ghost::GradMode no_grad(false);
  Tensor out;
  if (!ghost::recalled(kName, {&out})) {
    out = with_rows(x, rows);
    ghost::offer(kName, {&out});
  }
  if (node) ghost::set_history(out, node);
  return out;
}

}  // namespace memtape::torchtitan
