// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/liger/functions.h"

#include "ghost/autograd/function.h"
#include "ghost/ops/creation.h"

namespace memtape::transformers::liger {
namespace {

using ghost::Gradients;
using ghost::Op;

/// rms_norm_backward: each multiprocessor sums its rows' share of the weight's gradient.
struct RmsNormBackward final : ghost::Node {
  explicit RmsNormBackward(bool over_gradient)
      : Node("LigerRMSNormFunctionBackward"), in_place(over_gradient) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor kept_x = x.unpack(), kept_weight = weight.unpack(), kept_rstd = rstd.unpack();
    const Op op("rms_norm_backward", {});
    const Tensor gradient = in[0].contiguous();
    const std::int64_t columns = gradient.size(-1);
    const Tensor rows = gradient.view({-1, columns});
    Tensor shares;
    if (wants(1))
      shares = ghost::empty({ghost::session().device.sm_count, columns}, DType::float32);
    out[0] = (in_place ? rows : ghost::zeros_like(rows)).view(gradient.sizes());
    if (wants(1)) out[1] = shares.sum(0).to(kept_weight.dtype());
  }
  void release() override {
    x.reset();
    weight.reset();
    rstd.reset();
  }
  ghost::Saved x, weight, rstd;
  bool in_place;
};

struct ProductBackward final : ghost::Node {
  explicit ProductBackward(const char* node_name) : Node(node_name) {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor kept_a = a.unpack(), kept_b = b.unpack();
    const Tensor packed = in[0].contiguous();
    out[0] = kept_a.view(packed.sizes());
    out[1] = kept_b.view(packed.sizes());
  }
  void release() override {
    a.reset();
    b.reset();
  }
  ghost::Saved a, b;
};

struct RopeBackward final : ghost::Node {
  RopeBackward() : Node("LigerRopeFunctionBackward") {}
  void apply(Gradients& in, Gradients& out) override {
    const Tensor kept_cos = cos.unpack(), kept_sin = sin.unpack();
    for (std::size_t i = 0; i < 2; ++i)
      if (in[i].defined()) out[i] = in[i].transpose(1, 2).contiguous();
    for (std::size_t i = 0; i < 2; ++i)
      if (out[i].defined()) out[i] = out[i].transpose(1, 2);
  }
  void release() override {
    cos.reset();
    sin.reset();
  }
  ghost::Saved cos, sin;
};

}  // namespace

Tensor rms_norm(const Tensor& input, const Tensor& weight, bool in_place) {
  const auto node = ghost::function_node<RmsNormBackward>({&input, &weight}, in_place);
  const Op op("rms_norm", {});
  Tensor out;
  {
    const ghost::GradMode no_grad(false);
    const Tensor packed = input.contiguous();
    const std::int64_t columns = packed.size(-1);
    const Tensor rows = packed.view({-1, columns});
    const Tensor y = ghost::empty(rows.sizes(), rows.dtype());
    const Tensor rstd = ghost::empty({rows.size(0)}, DType::float32);
    out = y.view(packed.sizes());
    if (node) {
      node->x.keep(rows);
      node->weight.keep(weight);
      node->rstd.keep(rstd);
    }
  }
  if (node) set_history(out, node);
  return out;
}

Tensor activated_product(const char* name, const Tensor& a, const Tensor& b) {
  const auto node = ghost::function_node<ProductBackward>({&a, &b}, name);
  const Op op("activated_product", {});
  Tensor out;
  {
    const ghost::GradMode no_grad(false);
    const Tensor packed_a = a.contiguous(), packed_b = b.contiguous();
    const Tensor rows_a = packed_a.view({-1, packed_a.size(-1)}),
                 rows_b = packed_b.view({-1, packed_b.size(-1)});
    out = ghost::empty(rows_a.sizes(), rows_a.dtype()).view(packed_a.sizes());
    if (node) {
      node->a.keep(rows_a);
      node->b.keep(rows_b);
    }
  }
  if (node) set_history(out, node);
  return out;
}

std::pair<Tensor, Tensor> rotary_pos_emb(const Tensor& query, const Tensor& key, const Tensor& cos,
                                         const Tensor& sin) {
  const auto node = ghost::function_node<RopeBackward>({&query, &key});
  const Op op("rope", {});
  Tensor q, k;
  {
    const ghost::GradMode no_grad(false);
    q = query.transpose(1, 2).contiguous();
    k = key.transpose(1, 2).contiguous();
    const Tensor packed_cos = cos.contiguous(), packed_sin = sin.contiguous();
    q = q.transpose(1, 2);
    k = k.transpose(1, 2);
    if (node) {
      node->cos.keep(packed_cos);
      node->sin.keep(packed_sin);
    }
  }
  if (node) {
    set_history(q, node);
    set_history(k, node);
  }
  return {std::move(q), std::move(k)};
}

}  // namespace memtape::transformers::liger
