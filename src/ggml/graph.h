// SPDX-License-Identifier: Apache-2.0
// Graph: the tensors of one evaluation and the order in which they are computed. It is built as
// ggml builds it: ops make tensors (ggml_mul_mat and others of ggml.h, without their data), and
// `expand` walks from a tensor to its sources, from left to right, and appends those that are not
// there yet.
//
// A shape that an op cannot take is remembered as the graph's failure, and the op returns its first
// source. So a model file with contradictory sizes ends in an error and not in a crash.
#pragma once

#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "ggml/tensor.h"

namespace memtape::ggml {

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::vector<Tensor*>& nodes() const { return nodes_; }
  const std::vector<Tensor*>& leafs() const { return leafs_; }
  int tensors() const { return static_cast<int>(arena_.size()); }
  const std::string& failure() const { return failure_; }
  void fail(std::string what);

  /// Appends `tensor` and everything it depends on, unless it is there already.
  void expand(Tensor* tensor) { expand(tensor, true); }
  /// Appends all of them, but only `chosen` is computed.
  Tensor* select(std::initializer_list<Tensor*> tensors, std::size_t chosen);

  Tensor* tensor(Type type, Extents ne);
  Tensor* input(Type type, Extents ne);
  /// A tensor with the same extents and strides, and nothing else.
  Tensor* like(const Tensor& tensor);
  /// A node that only keeps `of` alive (ggml_view_tensor).
  Tensor* alias(Tensor* of);

  Tensor* add(Tensor* a, Tensor* b) { return elementwise(Op::add, a, b); }
  Tensor* sub(Tensor* a, Tensor* b) { return elementwise(Op::sub, a, b); }
  Tensor* mul(Tensor* a, Tensor* b) { return elementwise(Op::mul, a, b); }
  Tensor* div(Tensor* a, Tensor* b) { return elementwise(Op::div, a, b); }
  Tensor* add_id(Tensor* a, Tensor* b, Tensor* ids);
  Tensor* scale(Tensor* a) { return alike(Op::scale, a); }
  Tensor* scale_inplace(Tensor* a);
  Tensor* clamp(Tensor* a) { return alike(Op::clamp, a); }
  Tensor* sqr(Tensor* a) { return alike(Op::sqr, a); }
  Tensor* sqrt(Tensor* a) { return alike(Op::sqrt, a); }
  Tensor* unary(Unary kind, Tensor* a);
  /// The gate is the first half of `a`.
  Tensor* glu(Glu kind, Tensor* a);
  Tensor* glu(Glu kind, Tensor* gate, Tensor* up);
  Tensor* norm(Tensor* a) { return alike(Op::norm, a); }
  Tensor* rms_norm(Tensor* a) { return alike(Op::rms_norm, a); }
  Tensor* l2_norm(Tensor* a) { return alike(Op::l2_norm, a); }
  Tensor* sum_rows(Tensor* a) { return by_row(Op::sum_rows, a); }
  Tensor* mean(Tensor* a) { return by_row(Op::mean, a); }
  Tensor* fill(Tensor* a) { return alike(Op::fill, a); }
  Tensor* mul_mat(Tensor* a, Tensor* b);
  Tensor* mul_mat_id(Tensor* as, Tensor* b, Tensor* ids);
  Tensor* rope(Tensor* a, Tensor* positions, Tensor* factors);
  Tensor* soft_max(Tensor* a);
  Tensor* soft_max(Tensor* a, Tensor* mask, float max_bias);
  Tensor* flash_attention(Tensor* q, Tensor* k, Tensor* v, Tensor* mask);
  Tensor* argsort_top_k(Tensor* a, std::int64_t k);
  Tensor* get_rows(Tensor* a, Tensor* rows);
  Tensor* set_rows(Tensor* a, Tensor* b, Tensor* rows);
  Tensor* concat(Tensor* a, Tensor* b, int dimension);
  Tensor* repeat(Tensor* a, Extents ne);
  Tensor* pad(Tensor* a, Extents by);
  Tensor* cont(Tensor* a) { return cont(a, a->ne); }
  Tensor* cont(Tensor* a, Extents ne);
  Tensor* cpy(Tensor* a, Tensor* b);
  Tensor* cast(Tensor* a, Type type);
  Tensor* ssm_conv(Tensor* x, Tensor* kernel);
  struct Scan {
    Tensor *state, *x, *dt, *a, *b, *c, *ids;
  };
  Tensor* ssm_scan(const Scan& scan);
  struct DeltaNet {
    Tensor *q, *k, *v, *gate, *beta, *state;
  };
  /// Its result is the output, followed by the states after the last `snapshots` tokens.
  Tensor* gated_delta_net(const DeltaNet& net, std::int64_t snapshots = 1);
  /// The recurrences of RWKV: the result is the output, followed by the states. The sources are in
  /// ggml's order.
  Tensor* rwkv_wkv6(std::initializer_list<Tensor*> k_v_r_first_decay_state);
  Tensor* rwkv_wkv7(std::initializer_list<Tensor*> r_w_k_v_a_b_state);
  Tensor* gated_linear_attn(std::initializer_list<Tensor*> k_v_q_gate_state);
  /// A score for each cell and each token (DeepSeek's sparse attention).
  Tensor* lightning_indexer(Tensor* q, Tensor* k, Tensor* weights, Tensor* mask);
  Tensor* top_k(Tensor* a, std::int64_t k);

  Tensor* reshape(Tensor* a, Extents ne);
  struct Window {
    Extents ne{1, 1, 1, 1};
    Bytes nb1 = 0, nb2 = 0, nb3 = 0;
    Bytes offset = 0;
  };
  Tensor* view(Tensor* a, const Window& window);
  Tensor* view_1d(Tensor* a, std::int64_t n, Bytes offset);
  Tensor* view_2d(Tensor* a, Extents ne, Bytes nb1, Bytes offset);
  Tensor* view_3d(Tensor* a, Extents ne, Bytes nb1, Bytes nb2, Bytes offset);
  Tensor* permute(Tensor* a, std::array<int, kMaxDims> axes);
  Tensor* transpose(Tensor* a);

 private:
  Tensor* made(Op op, Type type, Extents ne, std::initializer_list<Tensor*> sources);
  Tensor* alike(Op op, Tensor* a) { return made(op, a->type, a->ne, {a}); }
  Tensor* recurrence(Op op, std::initializer_list<Tensor*> sources);
  Tensor* elementwise(Op op, Tensor* a, Tensor* b);
  Tensor* by_row(Op op, Tensor* a);
  Tensor* view_of(Tensor* a, Bytes offset);
  bool wants(bool condition, const char* op, const Tensor* a, const Tensor* b = nullptr);
  void expand(Tensor* tensor, bool compute);
  void visit(Tensor* tensor, bool compute);

  std::deque<Tensor> arena_;
  std::vector<Tensor*> nodes_, leafs_;
  std::string failure_;
};

}  // namespace memtape::ggml
