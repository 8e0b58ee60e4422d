// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "framework/torch/inductor/lowered.h"
#include "ghost/autograd/accumulate_grad.h"

namespace memtape::torch::inductor {
namespace {

using ghost::Node;

bool is_leaf(const Node& node) { return std::string_view(node.name) == "AccumulateGrad"; }

/// Nodes behind the loss, the latest first: the order in which the engine runs them.
std::vector<Node*> in_engine_order(const ghost::Tensor& loss) {
  std::vector<Node*> found{loss.impl().grad_fn.get()};
  std::map<Node*, bool> seen{{found.front(), true}};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (std::size_t e = 0; e < found[i]->edges.size(); ++e) {
      Node* const next = found[i]->edges[e].function.get();
      if (next && !is_leaf(*next) && !std::exchange(seen[next], true)) found.push_back(next);
    }
  std::stable_sort(found.begin(), found.end(),
                   [](const Node* a, const Node* b) { return a->sequence > b->sequence; });
  return found;
}

/// The formulas of tools/autograd/derivatives.yaml as values.
class BackwardLowering {
 public:
  BackwardLowering(Lowered& lowered, const TracedPass& pass)
      : lowered_(lowered), graph_(lowered.graph), pass_(pass) {
    for (std::size_t i = 0; i < pass.parameters.size(); ++i)
      parameter_[&pass.parameters[i].impl()] = i;
    result_.gradients.resize(pass.parameters.size());
  }

  LoweredBackward run() {
    graph_.begin_backward();
    result_.grad_loss = graph_.input("tangents", {}, pass_.loss.dtype());
    add(edge_of(pass_.loss), result_.grad_loss);
    if (pass_.logits.defined() && pass_.logits.requires_grad() && !pass_.breaks_at_loss) {
      result_.grad_logits = graph_.input("tangents", pass_.logits.sizes(), pass_.logits.dtype());
      add(edge_of(pass_.logits), *result_.grad_logits);
    }
    const std::vector<Node*> nodes = in_engine_order(pass_.loss);
    find_kept(nodes);
    for (Node* node : nodes) lower(*node);
    return std::move(result_);
  }

 private:
  static ghost::Edge edge_of(const ghost::Tensor& tensor) { return ghost::gradient_edge(tensor); }

  /// What was kept when a leaf's sink had been made in between belongs to the node before.
  void find_kept(std::vector<Node*> nodes) {
    std::map<std::uint64_t, Node*> by_sequence;
    for (Node* node : nodes) by_sequence[node->sequence] = node;
    for (const auto& [sequence, blocks] : pass_.kept) {
      auto after = by_sequence.upper_bound(sequence);
      if (after == by_sequence.begin()) continue;
      std::vector<ValueId>& kept = kept_[std::prev(after)->second];
      for (const BlockId block : blocks) kept.push_back(lowered_.value_of(block, pass_));
    }
  }

  /// One more gradient for what an edge leads to, in its sizes and its dtype. That of the logits is
  /// written in the loop behind the softmax's sums, in the place of nothing.
  void add(const ghost::Edge& edge, ValueId gradient) {
    Node* const to = edge.function.get();
    if (!to) return;
    const ghost::InputMetadata& wanted = to->metadata[edge.input_nr];
    gradient = fitted(gradient, wanted);
    if (pass_.breaks_at_loss && to == pass_.logits.impl().grad_fn.get())
      gradient = leave_loss(gradient, wanted);
    std::vector<std::optional<ValueId>>& places = gradients_[to];
    if (places.size() <= edge.input_nr) places.resize(edge.input_nr + 1);
    std::optional<ValueId>& place = places[edge.input_nr];
    if (place && is_leaf(*to) && std::string_view(graph_[*place].op) == "mm")
      place = added_to_product(*place, gradient);
    else if (place && place == result_.grad_logits)
      place = graph_.reduction("add", wanted.sizes, wanted.dtype, {*place, gradient});
    else
      place =
          place ? graph_.fused("add", wanted.sizes, wanted.dtype, {*place, gradient}) : gradient;
    if (!is_leaf(*to)) return;
    const auto known =
        parameter_.find(&static_cast<const ghost::AccumulateGrad*>(to)->variable.impl());
    if (known != parameter_.end()) result_.gradients[known->second] = place;
  }

  /// add(mm(a, b), c) becomes addmm(c, a, b) (fx_passes/post_grad.py): the product waits for what
  /// is added.
  ValueId added_to_product(ValueId product, ValueId gradient) {
    std::vector<ValueId> reads = graph_[product].reads;
    reads.push_back(gradient);
    return graph_.kernel("addmm", graph_[product].sizes, graph_[product].dtype, std::move(reads));
  }

  /// The gradient that the loss's graph gives; then that of the model begins with zeros for its
  /// other output.
  ValueId leave_loss(ValueId gradient, const ghost::InputMetadata& wanted) {
    gradient = graph_.reduction("logits", wanted.sizes, wanted.dtype, {gradient});
    result_.hidden = read_by_head();
    const Value& hidden = graph_[*result_.hidden];
    result_.grad_hidden = graph_.kernel("zeros", hidden.sizes, hidden.dtype, {});
    return gradient;
  }

  ValueId read_by_head() {
    ValueId hidden =
        graph_[lowered_.value_of(pass_.logits.impl().storage->block, pass_)].reads.front();
    while (graph_[hidden].kind == Value::Kind::view ||
           std::string_view(graph_[hidden].op) == "_to_copy")
      hidden = graph_[hidden].reads.front();
    return hidden;
  }

  /// Sums of few numbers are written out (torch/_inductor/config.py, unroll_reductions_threshold),
  /// and one number a row is used where it is found.
  static bool stays_in_kernel(std::int64_t have, const Dims& wanted) {
    constexpr std::int64_t kUnrolled = 8;
    return have <= kUnrolled * ghost::numel(wanted) || (wanted.rank() > 1 && wanted.back() == 1);
  }

  /// validate_outputs: summed where it was broadcast, and cast.
  ValueId fitted(ValueId gradient, const ghost::InputMetadata& wanted) {
    const std::int64_t have = ghost::numel(graph_[gradient].sizes);
    const std::int64_t want = ghost::numel(wanted.sizes);
    if (want < have)
      return stays_in_kernel(have, wanted.sizes)
                 ? graph_.fused("sum", wanted.sizes, wanted.dtype, {gradient})
                 : graph_.reduction("sum", wanted.sizes, wanted.dtype, {gradient});
    if (want > have || graph_[gradient].dtype != wanted.dtype)
      return graph_.fused(want > have ? "expand" : "_to_copy", wanted.sizes, wanted.dtype,
                          {gradient});
    return gradient;
  }

  void lower(Node& node) {
    std::vector<ValueId> in;
    for (const std::optional<ValueId>& gradient : gradients_[&node])
      if (gradient) in.push_back(*gradient);
    if (in.empty()) return;
    graph_.enter(node.scope);
    struct Rule {
      std::string_view name;
      void (BackwardLowering::*lower)(Node&, const std::vector<ValueId>&);
    };
    constexpr auto kRules = std::to_array<Rule>({
        {"MmBackward0", &BackwardLowering::product},
        {"BmmBackward0", &BackwardLowering::product},
        {"BaddbmmBackward0", &BackwardLowering::product},
        {"AddmmBackward0", &BackwardLowering::addmm},
        {"EmbeddingBackward0", &BackwardLowering::embedding},
        {"ScaledDotProductEfficientAttentionBackward0", &BackwardLowering::attention},
        {"ScaledDotProductFlashAttentionBackward0", &BackwardLowering::attention},
        {"NativeLayerNormBackward0", &BackwardLowering::norm},
        {"FusedRmsNormBackward0", &BackwardLowering::norm},
        {"MulBackward0", &BackwardLowering::mul},
    });
    const auto rule = std::find_if(kRules.begin(), kRules.end(),
                                   [&](const Rule& one) { return one.name == node.name; });
    if (rule != kRules.end())
      (this->*rule->lower)(node, in);
    else if (passes_on(node.name))
      for (std::size_t i = 0; i < node.edges.size(); ++i) add(node.edges[i], in.front());
    else
      pointwise(node, in);
  }

  /// Views, and what else hands its gradient on as it is but for its sizes.
  static bool passes_on(std::string_view name) {
    constexpr auto kPassing = std::to_array<std::string_view>(
        {"ViewBackward0", "UnsafeViewBackward0", "TransposeBackward0", "TBackward0",
         "PermuteBackward0", "UnsqueezeBackward0", "SqueezeBackward1", "AliasBackward0",
         "CloneBackward0", "AddBackward0", "ExpandBackward0", "ToCopyBackward0", "MeanBackward1",
         "SumBackward0", "SumBackward1", "RepeatBackward0"});
    return std::find(kPassing.begin(), kPassing.end(), name) != kPassing.end();
  }

  const std::vector<ValueId>& kept(Node& node) { return kept_[&node]; }
  static bool wants(const Node& node, std::size_t i) {
    return static_cast<bool>(node.edges[i].function);
  }
  const ghost::InputMetadata& metadata(const Node& node, std::size_t i) const {
    const ghost::Edge& edge = node.edges[i];
    return edge.function->metadata[edge.input_nr];
  }

  /// Any formula over gradients and what was kept, a row's sums within the kernel. A gradient of
  /// fewer numbers than it is given is that of a broadcast operand, but a piece of a joined tensor.
  void pointwise(Node& node, const std::vector<ValueId>& in) {
    std::vector<ValueId> reads = in;
    reads.insert(reads.end(), kept(node).begin(), kept(node).end());
    const bool takes_pieces = std::string_view(node.name) == "CatBackward0" ||
                              std::string_view(node.name) == "StackBackward0";
    for (std::size_t i = 0; i < node.edges.size(); ++i)
      if (wants(node, i)) add(node.edges[i], formula(node, i, reads, takes_pieces));
  }
  ValueId formula(const Node& node, std::size_t i, const std::vector<ValueId>& reads,
                  bool takes_pieces) {
    const ghost::InputMetadata& wanted = metadata(node, i);
    const Value& gradient = graph_[reads.front()];
    const bool was_broadcast =
        !takes_pieces && ghost::numel(wanted.sizes) < ghost::numel(gradient.sizes);
    return graph_.fused(node.name, was_broadcast ? gradient.sizes : wanted.sizes,
                        was_broadcast ? gradient.dtype : wanted.dtype, reads);
  }

  /// Each factor's gradient reads the other, which was kept first.
  void mul(Node& node, const std::vector<ValueId>& in) {
    if (node.edges.size() < 2) return pointwise(node, in);
    const std::array<std::optional<ValueId>, 2> other = kept_by_operand(node, 0, 1);
    for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      if (!wants(node, i)) continue;
      std::vector<ValueId> reads = in;
      if (other[i]) reads.push_back(*other[i]);
      add(node.edges[i], formula(node, i, reads, false));
    }
  }

  /// What the gradients of operands `a` and `b` read: kept in that order, each where it is wanted.
  std::array<std::optional<ValueId>, 2> kept_by_operand(Node& node, std::size_t a, std::size_t b) {
    std::array<std::optional<ValueId>, 2> found;
    std::size_t next = 0;
    for (std::size_t i = 0; i < 2; ++i)
      if (wants(node, i == 0 ? a : b) && next < kept(node).size()) found[i] = kept(node)[next++];
    return found;
  }

  void multiply(const Node& node, std::size_t i, ValueId gradient,
                const std::optional<ValueId>& other) {
    if (!wants(node, i)) return;
    std::vector<ValueId> reads{gradient};
    if (other) reads.push_back(*other);
    const bool batched = std::string_view(node.name).starts_with("B");
    add(node.edges[i], graph_.kernel(batched ? "bmm" : "mm", metadata(node, i).sizes,
                                     graph_[gradient].dtype, std::move(reads)));
  }
  void product(Node& node, const std::vector<ValueId>& in) {
    const auto other = kept_by_operand(node, 0, 1);
    multiply(node, 1, in.front(), other[1]);
    multiply(node, 0, in.front(), other[0]);
  }
  void addmm(Node& node, const std::vector<ValueId>& in) {
    const auto other = kept_by_operand(node, 1, 2);
    multiply(node, 1, in.front(), other[0]);
    multiply(node, 2, in.front(), other[1]);
    add(node.edges[0], in.front());
  }

  /// embedding_dense_backward (decompositions.py): rows are added up in float32, by a kernel that
  /// inductor writes.
  void embedding(Node& node, const std::vector<ValueId>& in) {
    std::vector<ValueId> reads = in;
    reads.insert(reads.end(), kept(node).begin(), kept(node).end());
    const ValueId rows =
        graph_.reduction("index_put", metadata(node, 0).sizes, DType::float32, std::move(reads));
    graph_[rows].unfusible = true;
    add(node.edges[0], rows);
  }

  /// One kernel computes all gradients and writes each into its own buffer.
  void attention(Node& node, const std::vector<ValueId>& in) {
    std::vector<ValueId> reads = in;
    reads.insert(reads.end(), kept(node).begin(), kept(node).end());
    const bool flash = std::string_view(node.name).find("Flash") != std::string_view::npos;
    for (std::size_t i = 0; i < node.edges.size(); ++i) {
      if (!wants(node, i)) continue;
      const ghost::InputMetadata& wanted = metadata(node, i);
      const ValueId gradient =
          graph_.kernel(flash ? "_flash_attention_backward" : "_efficient_attention_backward",
                        wanted.sizes, wanted.dtype, reads);
      if (flash) graph_[gradient].role = Role::flash_backward;
      add(node.edges[i], gradient);
    }
  }

  /// native_layer_norm_backward (decompositions.py) reads the normalized input, the statistic that
  /// it was divided by, and the weight. The bias's gradient reads nothing but the result's.
  void norm(Node& node, const std::vector<ValueId>& in) {
    const ValueId statistic = kept(node).back();
    const std::vector<ValueId> of_bias{in.front()},
        of_weight{in.front(), lowered_.normalized[statistic]};
    std::vector<ValueId> of_input = of_weight;
    for (const ValueId one : kept(node))
      if (one == statistic || graph_[one].is_static) of_input.push_back(one);
    const std::array<const std::vector<ValueId>*, 3> reads{&of_input, &of_weight, &of_bias};
    for (std::size_t i = 0; i < node.edges.size(); ++i) {
      if (!wants(node, i)) continue;
      const ghost::InputMetadata& wanted = metadata(node, i);
      add(node.edges[i], i == 0
                             ? graph_.fused(node.name, wanted.sizes, wanted.dtype, *reads[i])
                             : graph_.reduction(node.name, wanted.sizes, wanted.dtype, *reads[i]));
    }
  }

  Lowered& lowered_;
  Graph& graph_;
  const TracedPass& pass_;
  std::map<const ghost::TensorImpl*, std::size_t> parameter_;
  std::map<Node*, std::vector<ValueId>> kept_;
  std::map<Node*, std::vector<std::optional<ValueId>>> gradients_;
  LoweredBackward result_;
};

bool is_attention_backward(std::string_view op) {
  return op == "_efficient_attention_backward" || op == "_flash_attention_backward";
}

}  // namespace

LoweredBackward lower_backward(Lowered& lowered, const TracedPass& pass) {
  return BackwardLowering(lowered, pass).run();
}

void measure_scratch(Lowered& lowered, const TracedPass& pass) {
  const Tape& tape = ghost::session().tape;
  std::vector<Bytes> taken;  // by kernel
  for (const ghost::TracedOp& op : pass.backward) {
    if (!is_attention_backward(op.name)) continue;
    Bytes scratch = 0;
    for (std::size_t i = 3; i < op.makes.size(); ++i) scratch += tape.requested[op.makes[i]];
    taken.push_back(scratch);
  }
  std::size_t next = 0;
  for (ValueId id = 0; id < lowered.graph.size(); ++id) {
    if (!lowered.graph[id].backward || !is_attention_backward(lowered.graph[id].op)) continue;
    const bool is_last = id + 1 == lowered.graph.size() ||
                         !is_attention_backward(lowered.graph[id + 1].op) ||
                         lowered.graph[id + 1].reads != lowered.graph[id].reads;
    if (is_last && next < taken.size()) lowered.graph[id].scratch = taken[next++];
  }
}

}  // namespace memtape::torch::inductor
