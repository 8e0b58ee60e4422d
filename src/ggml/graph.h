// SPDX-License-Identifier: Apache-2.0
// Graph: the tensors of one evaluation and the order they are computed in, built as ggml builds it:
// ops make tensors (ops.h of ggml: ggml_mul_mat and its like, without their data), `expand` walks
// from a tensor to its sources, left to right, and appends what was not there yet.
//
// A shape that an op cannot take is remembered as the graph's failure, and the op answers with its
// first source, so that a model file with contradictory sizes ends in an error and not in a crash.
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

  /// Appends `tensor` and all it depends on, as far as they are not there yet.
  void expand(Tensor* tensor) { expand(tensor, true); }
  /// Appends all of them, of which only `chosen` is computed.
  Tensor* select(std::initializer_list<Tensor*> tensors, std::size_t chosen);

  Tensor* tensor(Type type, Extents ne);
  Tensor* input(Type type, Extents ne);
  /// The same extents and strides, nothing else.
  Tensor* like(const Tensor& tensor);
  /// A node that only holds on to `of` (ggml_view_tensor).
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
  /// The gate in the first half of `a`.
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
  /// The output, and behind it the states after the last tokens, so many.
  Tensor* gated_delta_net(const DeltaNet& net, std::int64_t snapshots = 1);
  /// RWKV's recurrences: the output, and behind it the states. What they read, as ggml orders it.
  Tensor* rwkv_wkv6(std::initializer_list<Tensor*> k_v_r_first_decay_state);
  Tensor* rwkv_wkv7(std::initializer_list<Tensor*> r_w_k_v_a_b_state);
  Tensor* gated_linear_attn(std::initializer_list<Tensor*> k_v_q_gate_state);
  /// A score for each cell and token (DeepSeek's sparse attention).
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
