// SPDX-License-Identifier: Apache-2.0
#include "framework/torchtitan/compiled_block.h"

#include "framework/torchtitan/activation_checkpoint.h"

namespace memtape::torchtitan {
namespace {

using ghost::Dims;
using torch::inductor::Graph;
using torch::inductor::Tags;
using torch::inductor::ValueId;

class BlockGraph {
 public:
  BlockGraph(const ModelArgs& args, const BlockShape& shape)
      : args_(args),
        shape_(shape),
        rows_(shape.batch * shape.tokens * shape.tp),
        cut_{shape.batch, shape.tokens, args.dim},
        q_width_(args.n_heads * args.head_dim / shape.tp),
        kv_width_(args.n_kv_heads * args.head_dim / shape.tp),
        attended_kv_width_(args.grouped_attention ? kv_width_ : q_width_),
        ffn_width_(args.hidden_dim / shape.tp),
        graph_(std::make_shared<Graph>()) {}

  std::shared_ptr<Graph> build() {
    x_ = graph_->hidden = graph_->input("x", cut_, shape_.dtype);
    attention();
    feed_forward();
    graph_->begin_backward();
    grad_out_ = graph_->grad_output = graph_->input("grad_output", cut_, shape_.dtype);
    feed_forward_backward();
    attention_backward();
    return graph_;
  }

 private:
  Dims matrix(std::int64_t width) const { return {rows_, width}; }
  ValueId fused(const char* op, const Dims& sizes, std::vector<ValueId> reads) {
    return graph_->fused(op, sizes, shape_.dtype, std::move(reads));
  }
  ValueId mm(std::int64_t width, std::vector<ValueId> reads) {
    return graph_->kernel("mm", matrix(width), shape_.dtype, std::move(reads));
  }
  ValueId weight_gradient(std::int64_t out, std::int64_t in, std::vector<ValueId> reads) {
    return graph_->kernel("mm", {out, in}, shape_.dtype, std::move(reads));
  }

  /// From a GPU's stretch of the sequence to all of it: gathered along the first dimension, then
  /// put together along the second.
  ValueId gathered(ValueId value) {
    if (shape_.tp == 1) return value;
    const ValueId whole =
        graph_->kernel("all_gather_into_tensor", matrix(args_.dim), shape_.dtype, {value});
    return shape_.batch == 1 ? whole : fused("cat", matrix(args_.dim), {whole});
  }
  /// Summands of all of the sequence to the sum of a stretch.
  ValueId scattered(ValueId value) {
    if (shape_.tp == 1) return value;
    const ValueId chunks = fused("cat", matrix(args_.dim), {value});
    return graph_->kernel("reduce_scatter_tensor", cut_, shape_.dtype, {chunks});
  }

  /// The rotated q or k of a projection.
  ValueId rotated(ValueId projection, std::int64_t width, std::int64_t attended_width) {
    ValueId turned = projection;
    if (args_.rope == Rope::complex) turned = complex_product(projection, width);
    return fused("rotary_emb", matrix(attended_width), {turned});
  }
  ValueId complex_product(ValueId value, std::int64_t width) {
    const ValueId upcast = graph_->fused("_to_copy", matrix(width), DType::float32, {value});
    const ValueId product = graph_->kernel("mul", matrix(width), DType::float32, {upcast});
    (*graph_)[product].recomputable = true;
    return product;
  }

  void attention() {
    normed_ = gathered(fused("rms_norm", cut_, {x_}));
    const ValueId q = mm(q_width_, {normed_}), k = mm(kv_width_, {normed_}),
                  v = mm(kv_width_, {normed_});
    q_ = rotated(q, q_width_, q_width_);
    k_ = rotated(k, kv_width_, attended_kv_width_);
    v_ = attended_kv_width_ == kv_width_ ? v : fused("expand", matrix(q_width_), {v});
    projected_q_ = q;
    projected_k_ = k;
    attended_ = graph_->kernel("_scaled_dot_product_flash_attention", matrix(q_width_),
                               shape_.dtype, {q_, k_, v_});
    logsumexp_ = graph_->kernel("_scaled_dot_product_flash_attention.logsumexp",
                                matrix(args_.n_heads / shape_.tp), DType::float32, {q_, k_, v_});
    attention_out_ = scattered(mm(args_.dim, {attended_}));
  }

  void feed_forward() {
    ffn_normed_ = gathered(fused("rms_norm", cut_, {x_, attention_out_}));
    w1_ = mm(ffn_width_, {ffn_normed_});
    w3_ = mm(ffn_width_, {ffn_normed_});
    gated_ = fused("silu_mul", matrix(ffn_width_), {w1_, w3_});
    const ValueId down = scattered(mm(args_.dim, {gated_}));
    graph_->output = fused("add", cut_, {x_, attention_out_, down});
  }

  void feed_forward_backward() {
    const ValueId grad = gathered(grad_out_);
    gradients_.w2 = weight_gradient(args_.dim, ffn_width_, {grad, gated_});
    const ValueId grad_gated = mm(ffn_width_, {grad});
    const ValueId grad_w3 = fused("silu_mul_backward", matrix(ffn_width_), {grad_gated, w1_});
    const ValueId grad_w1 = fused("silu_mul_backward", matrix(ffn_width_), {grad_gated, w1_, w3_});
    gradients_.w3 = weight_gradient(ffn_width_, args_.dim, {grad_w3, ffn_normed_});
    const ValueId from_w3 = mm(args_.dim, {grad_w3});
    gradients_.w1 = weight_gradient(ffn_width_, args_.dim, {grad_w1, ffn_normed_});
    const ValueId from_w1 = mm(args_.dim, {grad_w1});
    const ValueId grad_normed = joined({from_w3, from_w1});
    gradients_.ffn_norm = graph_->fused("rms_norm_backward", {args_.dim}, shape_.dtype,
                                        {grad_normed, x_, attention_out_});
    grad_residual_ = fused("rms_norm_backward", cut_, {grad_normed, grad_out_, x_, attention_out_});
  }

  /// The sum of what flows back into a norm, brought to this GPU's stretch.
  ValueId joined(std::vector<ValueId> parts) {
    if (shape_.tp == 1) return fused("add", matrix(args_.dim), std::move(parts));
    return scattered(fused("add", matrix(args_.dim), std::move(parts)));
  }

  /// The gradient of a projection from that of the rotated, repeated heads.
  ValueId rotated_backward(ValueId grad, ValueId projection, std::int64_t width) {
    std::vector<ValueId> reads{grad};
    if (args_.rope == Rope::complex) reads = {complex_product(grad, width)};
    if (args_.qk_norm) reads.push_back(projection);
    return fused("rotary_emb_backward", matrix(width), std::move(reads));
  }

  void attention_backward() {
    const ValueId grad = gathered(grad_residual_);
    gradients_.wo = weight_gradient(args_.dim, q_width_, {grad, attended_});
    const ValueId grad_attended = mm(q_width_, {grad});
    const std::vector<ValueId> reads{grad_attended, q_, k_, v_, attended_, logsumexp_};
    const char* const name = "_scaled_dot_product_flash_attention_backward";
    const ValueId grad_k = graph_->kernel(name, matrix(attended_kv_width_), shape_.dtype, reads);
    const ValueId grad_v = graph_->kernel(name, matrix(attended_kv_width_), shape_.dtype, reads);
    const ValueId grad_q = graph_->kernel(name, matrix(q_width_), shape_.dtype, reads);
    const std::int64_t heads = args_.n_heads / shape_.tp;
    // softmax_d and the accumulator of dq, both float32 (flash_api.cpp, mha_bwd).
    (*graph_)[grad_q].scratch = 4 * rows_ * (heads + q_width_);
    if (attended_kv_width_ < q_width_)  // dk_expanded and dv_expanded
      (*graph_)[grad_q].scratch += 2 * bytes_of(shape_.dtype, rows_ * q_width_);
    const ValueId from_v =
        attended_kv_width_ == kv_width_ ? grad_v : fused("sum", matrix(kv_width_), {grad_v});
    const ValueId from_k = rotated_backward(grad_k, projected_k_, kv_width_),
                  from_q = rotated_backward(grad_q, projected_q_, q_width_);
    gradients_.wv = weight_gradient(kv_width_, args_.dim, {from_v, normed_});
    const ValueId v = mm(args_.dim, {from_v});
    gradients_.wk = weight_gradient(kv_width_, args_.dim, {from_k, normed_});
    const ValueId k = mm(args_.dim, {from_k});
    gradients_.wq = weight_gradient(q_width_, args_.dim, {from_q, normed_});
    const ValueId q = mm(args_.dim, {from_q});
    const ValueId grad_normed = joined({v, k, q});
    gradients_.attention_norm =
        graph_->fused("rms_norm_backward", {args_.dim}, shape_.dtype, {grad_normed, x_});
    if (args_.qk_norm) {
      gradients_.q_norm = graph_->fused("rms_norm_backward", {args_.head_dim}, shape_.dtype,
                                        {grad_q, projected_q_});
      gradients_.k_norm = graph_->fused("rms_norm_backward", {args_.head_dim}, shape_.dtype,
                                        {grad_k, projected_k_});
    }
    graph_->grad_input = fused("rms_norm_backward", cut_, {grad_normed, grad_residual_, x_});
    list_gradients();
  }

  /// In the order in which a block registers its parameters.
  void list_gradients() {
    auto& all = graph_->weight_gradients;
    all = {gradients_.wq, gradients_.wk, gradients_.wv, gradients_.wo};
    if (args_.qk_norm) all.insert(all.end(), {gradients_.q_norm, gradients_.k_norm});
    all.insert(all.end(), {gradients_.w1, gradients_.w2, gradients_.w3, gradients_.attention_norm,
                           gradients_.ffn_norm});
  }

  const ModelArgs& args_;
  BlockShape shape_;
  std::int64_t rows_;
  Dims cut_;
  std::int64_t q_width_, kv_width_;
  std::int64_t attended_kv_width_;  ///< of keys and values as attention takes them
  std::int64_t ffn_width_;
  std::shared_ptr<Graph> graph_;
  ValueId x_ = 0, normed_ = 0, q_ = 0, k_ = 0, v_ = 0, projected_q_ = 0, projected_k_ = 0,
          attended_ = 0, logsumexp_ = 0, attention_out_ = 0, ffn_normed_ = 0, w1_ = 0, w3_ = 0,
          gated_ = 0, grad_out_ = 0, grad_residual_ = 0;
  struct {
    ValueId wq, wk, wv, wo, q_norm, k_norm, w1, w2, w3, attention_norm, ffn_norm;
  } gradients_{};
};

/// What the policy of selective checkpointing tags, in the order of the forward.
void tag_saved_ops(Graph& graph) {
  const ghost::KeepPolicy keeps = save_ops();
  for (ValueId id = 0; id < graph.size() && !graph[id].backward; ++id) {
    const std::string_view op = graph[id].op;
    const bool is_statistic = op.ends_with(".logsumexp");
    graph[id].checkpoint = is_statistic || keeps(op);
  }
}

}  // namespace

std::shared_ptr<const Graph> block_graph(const ModelArgs& args, const BlockShape& shape,
                                         ActivationCheckpoint checkpoint) {
  const std::shared_ptr<Graph> graph = BlockGraph(args, shape).build();
  if (checkpoint == ActivationCheckpoint::full) graph->tags = Tags::recompute_all;
  if (checkpoint == ActivationCheckpoint::ops) {
    graph->tags = Tags::selected;
    tag_saved_ops(*graph);
  }
  return graph;
}

}  // namespace memtape::torchtitan
