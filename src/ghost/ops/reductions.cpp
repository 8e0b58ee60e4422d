// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/reductions.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/iterator.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reduce_kernel.h"
#include "ghost/ops/scan.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"
#include "release/torch_changes.h"

namespace memtape::ghost {
namespace {

Dims reduced(const Dims& sizes, int d, bool keepdim) {
  Dims out = sizes;
  d = wrap(d, sizes.rank());
  if (keepdim)
    out[d] = 1;
  else
    out.erase(d);
  return out;
}

/// sum_backward: the gradient seen with the input's sizes, without memory.
Tensor expand_back(const Tensor& grad, const Dims& sizes, int d, bool keepdim) {
  return keepdim ? grad.expand(sizes) : grad.unsqueeze(d).expand(sizes);
}

struct SumBackward1 final : Node {
  SumBackward1(const Dims& input, int d, bool keep)
      : Node("SumBackward1"), sizes(input), dimension(wrap(d, input.rank())), keepdim(keep) {}
  void apply(Gradients& in, Gradients& out) override {
    out[0] = expand_back(in[0], sizes, dimension, keepdim);
  }
  void release() override {}
  Dims sizes;
  int dimension;
  bool keepdim;
};

struct SumBackward0 final : Node {
  explicit SumBackward0(const Dims& input) : Node("SumBackward0"), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].expand(sizes); }
  void release() override {}
  Dims sizes;
};

/// What a mean keeps: its input, though it needs no more of it than the number of its elements.
void keep_input_of_mean(Saved& kept, const Tensor& self) {
  if (!has(changes::kMeansKeepNoInput)) kept.keep(self);
}

struct MeanBackward0 final : Node {
  explicit MeanBackward0(const Dims& input) : Node("MeanBackward0"), sizes(input) {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].expand(sizes).div(2.0); }
  void release() override { self.reset(); }
  Saved self;
  Dims sizes;
};

struct MeanBackward1 final : Node {
  MeanBackward1(const Dims& input, int d, bool keep)
      : Node("MeanBackward1"), sizes(input), dimension(wrap(d, input.rank())), keepdim(keep) {}
  void apply(Gradients& in, Gradients& out) override {
    out[0] = expand_back(in[0], sizes, dimension, keepdim).div(2.0);
  }
  void release() override { self.reset(); }
  Saved self;
  Dims sizes;
  int dimension;
  bool keepdim;
};

/// linalg_vector_norm_backward of the sum of magnitudes: self.sgn() * grad.
struct LinalgVectorNormBackward0 final : Node {
  LinalgVectorNormBackward0() : Node("LinalgVectorNormBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor kept = self.unpack(), norm = result.unpack();
    const Tensor sign = sgn(kept);
    out[0] = sign.mul(in[0]);
  }
  void release() override {
    self.reset();
    result.reset();
  }
  Saved self, result;
};

/// linalg_vector_norm_backward of the root of squares: grad * (self / norm).masked_fill_(norm == 0,
/// 0).
struct LinalgVectorNormBackwardOfRoot final : Node {
  LinalgVectorNormBackwardOfRoot() : Node("LinalgVectorNormBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor kept = self.unpack(), norm = result.unpack();
    const Tensor direction = kept.div(norm);
    const Tensor is_zero = eq(norm, 0.0);
    out[0] = in[0].mul(direction);
  }
  void release() override {
    self.reset();
    result.reset();
  }
  Saved self, result;
};

/// softmax and log_softmax: keep the result; backward is a kernel that writes the input's dtype.
struct SoftmaxBackward final : Node {
  SoftmaxBackward(const char* node_name, bool of_log, DType dtype)
      : Node(node_name), logarithmic(of_log), input_dtype(dtype) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor kept = result.unpack();
    out[0] = logarithmic ? log_softmax_backward_data(in[0])
                         : softmax_backward_data(in[0], kept, input_dtype);
  }
  void release() override { result.reset(); }
  Saved result;
  bool logarithmic;
  DType input_dtype;

 private:
  Tensor log_softmax_backward_data(const Tensor& grad) const {
    Op op("_log_softmax_backward_data", {});
    Tensor out = empty(grad.sizes(), input_dtype);
    const Tensor packed = grad.contiguous();
    return out;
  }
};

Tensor softmax_op(const In& self, DType dtype, const char* name, const char* node_name) {
  // SoftMax.cpp fuses the change of dtype for float16 only; the argument outlives the call in the
  // caller's frame.
  const bool fused =
      dtype == self->dtype() || (self->dtype() == DType::float16 && dtype == DType::float32);
  if (!fused) {
    const Tensor converted = self->to(dtype);
    Tensor out = softmax_op(converted, dtype, name, node_name);
    self.release();
    return out;
  }
  Op op(name, {&self});
  Ptr<SoftmaxBackward> node;
  if (op.differentiable())
    node = op.node<SoftmaxBackward>({&*self}, node_name, name[1] == 'l', self->dtype());
  Tensor out = empty(self->sizes(), dtype);
  {
    const GradMode below_autograd(false);
    const Tensor packed = self->contiguous();  // host_softmax's input
  }
  if (node) {
    set_history(out, node);
    node->result.keep_result(out);
  }
  return out;
}

/// The result of a reduction kernel along `d`.
Tensor reduced_along(const Tensor& self, int d, bool keepdim, DType dtype) {
  Tensor out = empty(reduced(self.sizes(), d, keepdim), dtype);
  reduce_scratch(self, dim_set(wrap(d, self.dim())), dtype);
  return out;
}

Tensor reduced_to_number(const Tensor& self, DType dtype) {
  Tensor out = empty({}, dtype);
  reduce_scratch(self, all_dims(self.dim()), dtype);
  return out;
}

Tensor sum_op(const In& self, int d, bool keepdim) {
  Op op("sum", {&self});
  Tensor out = reduced_along(*self, d, keepdim, reduction_dtype(*self));
  if (op.differentiable())
    set_history(out, op.node<SumBackward1>({&*self}, self->sizes(), d, keepdim));
  return out;
}

Tensor mean_op(const In& self, int d, bool keepdim) {
  Op op("mean", {&self});
  Tensor out = reduced_along(*self, d, keepdim, self->dtype());
  if (op.differentiable()) {
    const auto node = op.node<MeanBackward1>({&*self}, self->sizes(), d, keepdim);
    keep_input_of_mean(node->self, *self);
    set_history(out, node);
  }
  return out;
}

}  // namespace

/// Leading dimensions are summed even where they are 1, and what is left without them is a view,
/// which keeps its base (aten/src/ATen/ExpandUtils.h).
Tensor sum_to(const In& self, const Dims& sizes) {
  if (self->sizes() == sizes) {
    Tensor same = *self;
    self.release();
    return same;
  }
  const int shift = self->dim() - sizes.rank();
  DimSet gone = 0;
  for (int i = 0; i < self->dim(); ++i)
    if (i < shift || self->size(i) != sizes[i - shift]) gone |= dim_set(i);
  Op op("sum", {&self});
  Tensor out = empty(sizes, self->dtype());
  reduce_scratch(*self, gone, self->dtype());
  return shift > 0 ? alias(out, sizes, out.strides()) : out;
}

Tensor norm_1(const In& self) {
  Op op("linalg_vector_norm", {&self});
  Ptr<LinalgVectorNormBackward0> node;
  if (op.differentiable()) {
    node = op.node<LinalgVectorNormBackward0>({&*self});
    node->self.keep(*self);
  }
  Tensor out = reduced_along(*self, -1, true, reduction_dtype(*self));
  if (node) {
    set_history(out, node);
    node->result.keep_result(out);
  }
  return out;
}

Tensor sum_last_two(const In& self) {
  Op op("sum", {&self});
  const int rank = self->dim();
  Tensor out = empty(self->sizes().leading().leading(), self->dtype());
  reduce_scratch(*self, dim_set(rank - 1) | dim_set(rank - 2), self->dtype());
  return out;
}

Tensor sum_all(const In& self) {
  Op op("sum", {&self});
  Tensor out = reduced_to_number(*self, reduction_dtype(*self));
  if (op.differentiable()) set_history(out, op.node<SumBackward0>({&*self}, self->sizes()));
  return out;
}

Tensor mean_all(const In& self) {
  Op op("mean", {&self});
  Tensor out = reduced_to_number(*self, self->dtype());
  if (op.differentiable()) {
    const auto node = op.node<MeanBackward0>({&*self}, self->sizes());
    keep_input_of_mean(node->self, *self);
    set_history(out, node);
  }
  return out;
}

Tensor softmax(const In& self, DType dtype) {
  return softmax_op(self, dtype, "_softmax", "SoftmaxBackward0");
}
Tensor log_softmax(const In& self, DType dtype) {
  return softmax_op(self, dtype, "_log_softmax", "LogSoftmaxBackward0");
}

Tensor softmax_backward_data(const Tensor& grad, const Tensor& result, DType input_dtype) {
  Op op("_softmax_backward_data", {});
  Tensor out = empty(grad.sizes(), input_dtype);
  const Tensor weighted = grad.mul(result);
  const Tensor packed = weighted.contiguous();
  return out;
}

Tensor cumsum(const In& self) {
  Tensor out = cumsum(*self, -1);
  self.release();
  return out;
}

Tensor vector_norm(const In& self) {
  Op op("linalg_vector_norm", {&self});
  return reduced_to_number(*self, reduction_dtype(*self));
}

Tensor vector_norm(const In& self, int d) {
  Op op("linalg_vector_norm", {&self});
  Ptr<LinalgVectorNormBackwardOfRoot> node;
  if (op.differentiable()) {
    node = op.node<LinalgVectorNormBackwardOfRoot>({&*self});
    node->self.keep(*self);
  }
  Tensor out = reduced_along(*self, d, true, reduction_dtype(*self));
  if (node) {
    set_history(out, node);
    node->result.keep_result(out);
  }
  return out;
}

Tensor max_all(const In& self) {
  Op op("max", {&self});
  return reduced_to_number(*self, self->dtype());
}

Tensor argmax(const In& self) {
  Op op("argmax", {});
  const int last = self->dim() - 1;
  Tensor found = empty(self->sizes().leading(), DType::int64);
  reduce_scratch(*self, dim_set(last), DType::int64, kValueAndPlace);
  return found;
}

Tensor all(const In& self) {
  Op op("all", {&self});
  return reduced_to_number(*self, DType::boolean);
}

Tensor any(const In& self) {
  Op op("any", {&self});
  return reduced_to_number(*self, DType::boolean);
}

Tensor any(const In& self, int d) {
  Op op("any", {&self});
  return reduced_along(*self, d, false, DType::boolean);
}

Tensor Tensor::sum(int d, bool keepdim) const& { return sum_op(*this, d, keepdim); }
Tensor Tensor::sum(int d, bool keepdim) && { return sum_op(std::move(*this), d, keepdim); }
Tensor Tensor::mean(int d, bool keepdim) const& { return mean_op(*this, d, keepdim); }
Tensor Tensor::mean(int d, bool keepdim) && { return mean_op(std::move(*this), d, keepdim); }

}  // namespace memtape::ghost
