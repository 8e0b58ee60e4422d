// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/pointwise.h"

#include "ghost/autocast.h"
#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/iterator.h"
#include "ghost/ops/softplus.h"

namespace memtape::ghost {
namespace {

struct AddBackward0 final : Node {
  AddBackward0() : Node("AddBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    for (std::size_t i = 0; i < edges.size(); ++i)
      if (wants(i)) out[i] = in[0];
  }
  void release() override {}
};

struct SubBackward0 final : Node {
  SubBackward0() : Node("SubBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    if (edges.size() > 1 && wants(1)) out[1] = in[0].neg();
    if (wants(0)) out[0] = in[0];
  }
  void release() override {}
};

struct RsubBackward1 final : Node {
  RsubBackward1() : Node("RsubBackward1") {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].neg(); }
  void release() override {}
};

struct MulBackward0 final : Node {
  MulBackward0() : Node("MulBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    if (wants(1)) out[1] = in[0].mul(self.unpack());
    if (wants(0)) out[0] = in[0].mul(other.unpack());
  }
  void release() override {
    other.reset();
    self.reset();
  }
  Saved self, other;
};

/// tensor * number, tensor / number: the gradient times (over) the number.
struct ScaleBackward final : Node {
  ScaleBackward(const char* node_name, bool divides) : Node(node_name), divides_by(divides) {}
  void apply(Gradients& in, Gradients& out) override {
    out[0] = divides_by ? in[0].div(2.0) : in[0].mul(2.0);
  }
  void release() override {}
  bool divides_by;
};

struct DivBackward0 final : Node {
  DivBackward0() : Node("DivBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor divisor = other.unpack();
    if (wants(1)) {  // -grad * ((self / other) / other), the right operand first
      const Tensor once = self.unpack().div(divisor);
      const Tensor twice = once.div(divisor);
      const Tensor negative = in[0].neg();
      out[1] = negative.mul(twice);
    }
    if (wants(0)) out[0] = in[0].div(divisor);
  }
  void release() override {
    other.reset();
    self.reset();
  }
  Saved self, other;
};

struct NegBackward0 final : Node {
  NegBackward0() : Node("NegBackward0") {}
  void apply(Gradients& in, Gradients& out) override { out[0] = in[0].neg(); }
  void release() override {}
};

struct PowBackward0 final : Node {
  explicit PowBackward0(double power) : Node("PowBackward0"), exponent(power) {}
  void apply(Gradients& in,
             Gradients& out) override {  // grad * (exponent * self.pow(exponent - 1))
    const Tensor lowered = self.unpack().pow(exponent - 1);
    const Tensor scaled = lowered.mul(exponent);
    out[0] = in[0].mul(scaled);
  }
  void release() override { self.reset(); }
  Saved self;
  double exponent;
};

/// Ops whose gradient is one fused kernel over the gradient and one kept tensor: silu, gelu, tanh,
/// sigmoid, relu, exp.
struct FusedUnaryBackward final : Node {
  FusedUnaryBackward(const char* node_name, const char* backward_op)
      : Node(node_name), op_name(backward_op) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor from = kept.unpack();
    Op op(op_name, {});
    out[0] = pointwise_output({&in[0], &from}, in[0].dtype());
  }
  void release() override { kept.reset(); }
  Saved kept;
  const char* op_name;
};

struct RsqrtBackward0 final : Node {
  RsqrtBackward0() : Node("RsqrtBackward0") {}
  void apply(Gradients& in, Gradients& out) override {  // -0.5 * grad * result.pow(3)
    const Tensor cubed = result.unpack().pow(3);
    const Tensor half = in[0].mul(-0.5);
    out[0] = half.mul(cubed);
  }
  void release() override { result.reset(); }
  Saved result;
};

struct ErfBackward0 final : Node {
  ErfBackward0() : Node("ErfBackward0") {}
  void apply(Gradients& in, Gradients& out) override {  // 2 / sqrt(pi) * exp(-self.pow(2)) * grad
    const Tensor squared = self.unpack().pow(2);
    const Tensor negated = squared.neg();
    const Tensor bell = exp(negated);
    const Tensor scaled = bell.mul(2.0);
    out[0] = scaled.mul(in[0]);
  }
  void release() override { self.reset(); }
  Saved self;
};

struct SqrtBackward0 final : Node {
  SqrtBackward0() : Node("SqrtBackward0") {}
  void apply(Gradients& in, Gradients& out) override {  // grad / (2 * result)
    const Tensor twice = result.unpack().mul(2.0);
    out[0] = in[0].div(twice);
  }
  void release() override { result.reset(); }
  Saved result;
};

struct ReciprocalBackward0 final : Node {
  ReciprocalBackward0() : Node("ReciprocalBackward0") {}
  void apply(Gradients& in, Gradients& out) override {  // -grad * (result * result)
    const Tensor kept = result.unpack();
    const Tensor squared = kept.mul(kept);
    const Tensor negative = in[0].neg();
    out[0] = negative.mul(squared);
  }
  void release() override { result.reset(); }
  Saved result;
};

/// where(condition, 0, grad) and where(condition, grad, 0): each makes its own zero.
struct WhereBackward0 final : Node {
  WhereBackward0() : Node("WhereBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor mask = condition.unpack();
    for (const std::size_t operand : {std::size_t{1}, std::size_t{0}})
      if (wants(operand)) out[operand] = chosen(mask, in[0]);
  }
  static Tensor chosen(const Tensor& mask, const Tensor& grad) {
    Tensor zero;
    {
      Op op("zeros", {});
      zero = empty({}, grad.dtype());
    }
    Op op("where", {});
    return pointwise_output({&mask, &grad}, grad.dtype());
  }
  void release() override { condition.reset(); }
  Saved condition;
};

/// clamp_backward: where((self >= min).logical_and_(self <= max), grad, 0).
struct ClampBackward1 final : Node {
  ClampBackward1() : Node("ClampBackward1") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor from = self.unpack();
    Tensor zero;
    {
      Op op("scalar_tensor", {});
      zero = empty({}, in[0].dtype());
    }
    const Tensor not_below = ge(from, kLimit);
    const Tensor not_above = le(from, kLimit);
    out[0] = where(not_below, in[0], zero);
  }
  void release() override {
    max.reset();
    min.reset();
    self.reset();
  }
  Saved self;
  Saved min, max;  ///< where they are tensors
};

/// clamp_backward with one bound: where(self >= min, grad, 0).
struct OneSidedClampBackward final : Node {
  explicit OneSidedClampBackward(bool has_min) : Node("ClampBackward1"), from_below(has_min) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor from = self.unpack();
    Tensor zero;
    {
      Op op("scalar_tensor", {});
      zero = empty({}, in[0].dtype());
    }
    const Tensor passes = from_below ? ge(from, kLimit) : le(from, kLimit);
    out[0] = where(passes, in[0], zero);
  }
  void release() override { self.reset(); }
  Saved self;
  bool from_below;
};

struct MaskedFillBackward0 final : Node {
  MaskedFillBackward0() : Node("MaskedFillBackward0") {}
  void apply(Gradients& in, Gradients& out) override {
    out[0] = masked_fill(in[0], mask.unpack(), 0.0);
  }
  void release() override { mask.reset(); }
  Saved mask;
};

/// original_self of torch's generated in-place ops: a copy, where backward needs what is about to
/// be overwritten.
Tensor self_as_it_was(const Tensor& self) {
  const GradMode no_grad(false);
  return self.clone();
}

Tensor add_op(const In& self, const In& other) {
  Op op("add", {&self, &other});
  const Ptr<Node> node =
      op.differentiable() ? op.node<AddBackward0>({&*self, &*other}) : Ptr<AddBackward0>();
  Tensor out = pointwise_output({&*self, &*other}, promote(*self, *other));
  if (node) set_history(out, node);
  return out;
}

Tensor sub_op(const In& self, const In& other) {
  Op op("sub", {&self, &other});
  Tensor out = pointwise_output({&*self, &*other}, promote(*self, *other));
  if (op.differentiable()) set_history(out, op.node<SubBackward0>({&*self, &*other}));
  return out;
}

Tensor mul_op(const In& self, const In& other) {
  Op op("mul", {&self, &other});
  Ptr<MulBackward0> node;
  if (op.differentiable()) {
    node = op.node<MulBackward0>({&*self, &*other});
    if (node->wants(0)) node->other.keep(*other);
    if (node->wants(1)) node->self.keep(*self);
  }
  Tensor out = pointwise_output({&*self, &*other}, promote(*self, *other));
  if (node) set_history(out, node);
  return out;
}

Tensor div_op(const In& self, const In& other) {
  Op op("div", {&self, &other});
  Ptr<DivBackward0> node;
  if (op.differentiable()) {
    node = op.node<DivBackward0>({&*self, &*other});
    node->other.keep(*other);
    if (node->wants(1)) node->self.keep(*self);
  }
  const DType dtype = promote(*self, *other);
  Tensor out =
      pointwise_output({&*self, &*other}, is_floating_point(dtype) ? dtype : DType::float32);
  if (node) set_history(out, node);
  return out;
}

/// tensor + number, tensor - number: a number with a fraction makes integers float32.
template <class N>
Tensor add_number(const char* name, const In& self, double number) {
  Op op(name, {&self});
  Tensor out = empty_like(
      *self,
      promote_with_number(*self, number != static_cast<double>(static_cast<std::int64_t>(number))));
  if (op.differentiable()) set_history(out, op.node<N>({&*self}));
  return out;
}

Tensor scale(const In& self, const char* name, const char* node_name, bool divides) {
  Op op(name, {&self});
  Tensor out = empty_like(*self, promote_with_number(*self, divides));
  if (op.differentiable()) set_history(out, op.node<ScaleBackward>({&*self}, node_name, divides));
  return out;
}

Tensor pow_op(const In& base, double exponent) {
  const Autocasted self(*base, CastPolicy::fp32);
  Op op("pow", {&base});
  Ptr<PowBackward0> node;
  if (op.differentiable()) {
    node = op.node<PowBackward0>({&*self}, exponent);
    node->self.keep(*self);
  }
  Tensor out = empty_like(*self, self->dtype());
  if (node) set_history(out, node);
  return out;
}

Tensor neg_op(const In& self) {
  Op op("neg", {&self});
  Tensor out = empty_like(*self, self->dtype());
  if (op.differentiable()) set_history(out, op.node<NegBackward0>({&*self}));
  return out;
}

/// An activation that keeps its input.
Tensor keeps_input(const In& self, const char* name, const char* node_name,
                   const char* backward_op) {
  Op op(name, {&self});
  Ptr<FusedUnaryBackward> node;
  if (op.differentiable()) {
    node = op.node<FusedUnaryBackward>({&*self}, node_name, backward_op);
    node->kept.keep(*self);
  }
  Tensor out = empty_like(*self, self->dtype());
  if (node) set_history(out, node);
  return out;
}

/// An activation that keeps its result.
Tensor keeps_result(const In& self, const char* name, const char* node_name,
                    const char* backward_op) {
  Op op(name, {&self});
  Ptr<FusedUnaryBackward> node;
  if (op.differentiable()) node = op.node<FusedUnaryBackward>({&*self}, node_name, backward_op);
  Tensor out = empty_like(*self, self->dtype());
  if (node) {
    set_history(out, node);
    node->kept.keep_result(out);
  }
  return out;
}

template <class N>
Tensor keeps_result(const In& self, const char* name) {
  Op op(name, {&self});
  Ptr<N> node;
  if (op.differentiable()) node = op.node<N>({&*self});
  Tensor out = empty_like(*self, promote_with_number(*self, true));
  if (node) {
    set_history(out, node);
    node->result.keep_result(out);
  }
  return out;
}

/// clamp with numbers: the bounds are known to the node of type N.
template <class N, class... Args>
Tensor clamped(const In& self, Args&&... args) {
  Op op("clamp", {&self});
  Ptr<N> node;
  if (op.differentiable()) {
    node = op.node<N>({&*self}, std::forward<Args>(args)...);
    node->self.keep(*self);
  }
  Tensor out = empty_like(*self, self->dtype());
  if (node) set_history(out, node);
  return out;
}

/// A function of what autocast's float32 policy makes of the operand.
template <class Function>
Tensor in_float32(const In& self, Function function) {
  const Autocasted x(*self, CastPolicy::fp32);
  Tensor out = function(*x);
  self.release();
  return out;
}

}  // namespace

Tensor exp(const In& self) {
  return in_float32(self,
                    [](const Tensor& x) { return keeps_result(x, "exp", "ExpBackward0", "mul"); });
}
Tensor rsqrt(const In& self) {
  return in_float32(self, [](const Tensor& x) { return keeps_result<RsqrtBackward0>(x, "rsqrt"); });
}
Tensor sqrt(const In& self) { return keeps_result<SqrtBackward0>(self, "sqrt"); }
Tensor reciprocal(const In& self) {
  return in_float32(
      self, [](const Tensor& x) { return keeps_result<ReciprocalBackward0>(x, "reciprocal"); });
}
Tensor tanh(const In& self) { return keeps_result(self, "tanh", "TanhBackward0", "tanh_backward"); }
Tensor sigmoid(const In& self) {
  return keeps_result(self, "sigmoid", "SigmoidBackward0", "sigmoid_backward");
}
Tensor silu(const In& self) { return keeps_input(self, "silu", "SiluBackward0", "silu_backward"); }
/// On a GPU the buffer beside the result is empty.
Tensor log_sigmoid(const In& self) {
  return keeps_input(self, "log_sigmoid_forward", "LogSigmoidBackward0", "log_sigmoid_backward");
}
Tensor gelu(const In& self) { return keeps_input(self, "gelu", "GeluBackward0", "gelu_backward"); }
Tensor softplus(const In& self) {
  return in_float32(self, [](const Tensor& x) {
    return keeps_input(x, "softplus", "SoftplusBackward0", "softplus_backward");
  });
}
Tensor relu(const In& self) {
  return keeps_result(self, "relu", "ReluBackward0", "threshold_backward");
}

Tensor erf(const In& self) {
  Op op("erf", {&self});
  Ptr<ErfBackward0> node;
  if (op.differentiable()) {
    node = op.node<ErfBackward0>({&*self});
    node->self.keep(*self);
  }
  Tensor out = empty_like(*self, self->dtype());
  if (node) set_history(out, node);
  return out;
}

Tensor clamp(const In& self, const ClampBounds& bounds) {
  const bool two_sided = bounds.min && bounds.max;
  return two_sided ? clamped<ClampBackward1>(self)
                   : clamped<OneSidedClampBackward>(self, bounds.min.has_value());
}

Tensor clamp_min(const In& self, double) {
  const Op op("clamp_min", {&self});
  return empty_like(*self, self->dtype());
}

Tensor pow(const In& self, const In& exponents) {
  const Op op("pow", {&self, &exponents});
  return pointwise_output({&*self, &*exponents}, exponents->dtype());
}

Tensor pow(double, const In& exponents) {
  const Op op("pow", {&exponents});
  Tensor out = empty_like(*exponents, exponents->dtype());
  const Tensor base = empty({}, DType::int64);
  return out;
}

void clamp_(Tensor& self, double, double) {
  const In operand(self);
  Op op("clamp_", {&operand});
  if (!op.differentiable()) return;
  const Ptr<ClampBackward1> node = op.node<ClampBackward1>({&self});
  {
    const GradMode no_grad(false);
    node->self.keep(self.clone());
  }
  set_history(self, node);
}

Tensor clamp(const In& self, const Tensor& min, const Tensor& max) {
  Op op("clamp", {&self});
  Ptr<ClampBackward1> node;
  if (op.differentiable()) {
    node = op.node<ClampBackward1>({&*self});
    node->max.keep(max);
    node->min.keep(min);
    node->self.keep(*self);
  }
  Tensor out = max.defined() ? pointwise_output({&*self, &min, &max}, self->dtype())
                             : pointwise_output({&*self, &min}, self->dtype());
  if (node) set_history(out, node);
  return out;
}

Tensor rsub(double, const In& self) {
  Op op("rsub", {&self});
  Tensor out = empty_like(*self, self->dtype());
  if (op.differentiable()) set_history(out, op.node<RsubBackward1>({&*self}));
  return out;
}

/// number / tensor is reciprocal() * number (torch/_tensor.py, Tensor.__rdiv__, whose frame holds
/// the tensor meanwhile).
Tensor rdiv(double number, const In& self) {
  Tensor out = reciprocal(*self).mul(number);
  self.release();
  return out;
}

Tensor where(const In& mask, const In& a, const In& b) {
  Op op("where", {&mask, &a, &b});
  Ptr<WhereBackward0> node;
  if (op.differentiable()) {
    node = op.node<WhereBackward0>({&*a, &*b});
    node->condition.keep(*mask);
  }
  Tensor out = pointwise_output({&*mask, &*a, &*b}, promote(*a, *b));
  if (node) set_history(out, node);
  return out;
}

Tensor masked_fill(const In& self, const In& mask, double) {
  Op op("masked_fill", {&self, &mask});
  Ptr<MaskedFillBackward0> node;
  if (op.differentiable()) {
    node = op.node<MaskedFillBackward0>({&*self});
    node->mask.keep(*mask);
  }
  // expand_outplace(mask, self), then self->clone(at::MemoryFormat::Contiguous)
  Tensor out = empty(broadcast(self->sizes(), mask->sizes()), self->dtype());
  if (node) set_history(out, node);
  return out;
}

void masked_fill_(const Tensor& self, const In& mask, double) {
  const In target(self);
  Op op("masked_fill_", {&target, &mask});
  if (!op.differentiable()) return;
  const Ptr<MaskedFillBackward0> node = op.node<MaskedFillBackward0>({&self});
  node->mask.keep(*mask);
  set_history(self, node);
}

void add_(const Tensor& self, const In& other) {
  const In target(self);
  Op op("add_", {&target, &other});
  if (op.differentiable()) set_history(self, op.node<AddBackward0>({&self, &*other}));
}

void mul_(const Tensor& self, const In& other) {
  const In target(self);
  Op op("mul_", {&target, &other});
  if (!op.differentiable()) return;
  const Ptr<MulBackward0> node = op.node<MulBackward0>({&self, &*other});
  if (node->wants(0)) node->other.keep(*other);
  if (node->wants(1)) node->self.keep(self_as_it_was(self));
  set_history(self, node);
}

void mul_(const Tensor& self, double) {
  const In target(self);
  Op op("mul_", {&target});
  if (op.differentiable())
    set_history(self, op.node<ScaleBackward>({&self}, "MulBackward0", false));
}

void div_(const Tensor& self, double) {
  const In target(self);
  Op op("div_", {&target});
  if (op.differentiable()) set_history(self, op.node<ScaleBackward>({&self}, "DivBackward0", true));
}

void div_(const Tensor& self, const In& other) {
  const In target(self);
  Op op("div_", {&target, &other});
  if (!op.differentiable()) return;
  const Ptr<DivBackward0> node = op.node<DivBackward0>({&self, &*other});
  node->other.keep(*other);
  if (node->wants(1)) node->self.keep(self_as_it_was(self));
  set_history(self, node);
}

Tensor Tensor::add(const In& other) const& { return add_op(*this, other); }
Tensor Tensor::add(const In& other) && { return add_op(std::move(*this), other); }
Tensor Tensor::add(double n) const& { return add_number<AddBackward0>("add", *this, n); }
Tensor Tensor::add(double n) && { return add_number<AddBackward0>("add", std::move(*this), n); }
Tensor Tensor::sub(const In& other) const& { return sub_op(*this, other); }
Tensor Tensor::sub(const In& other) && { return sub_op(std::move(*this), other); }
Tensor Tensor::sub(double n) const& { return add_number<SubBackward0>("sub", *this, n); }
Tensor Tensor::sub(double n) && { return add_number<SubBackward0>("sub", std::move(*this), n); }
Tensor Tensor::mul(const In& other) const& { return mul_op(*this, other); }
Tensor Tensor::mul(const In& other) && { return mul_op(std::move(*this), other); }
Tensor Tensor::mul(double) const& { return scale(*this, "mul", "MulBackward0", false); }
Tensor Tensor::mul(double) && { return scale(std::move(*this), "mul", "MulBackward0", false); }
Tensor Tensor::div(const In& other) const& { return div_op(*this, other); }
Tensor Tensor::div(const In& other) && { return div_op(std::move(*this), other); }
Tensor Tensor::div(double) const& { return scale(*this, "div", "DivBackward0", true); }
Tensor Tensor::div(double) && { return scale(std::move(*this), "div", "DivBackward0", true); }
Tensor Tensor::neg() const& { return neg_op(*this); }
Tensor Tensor::neg() && { return neg_op(std::move(*this)); }
Tensor Tensor::pow(double exponent) const& { return pow_op(*this, exponent); }
Tensor Tensor::pow(double exponent) && { return pow_op(std::move(*this), exponent); }

}  // namespace memtape::ghost
