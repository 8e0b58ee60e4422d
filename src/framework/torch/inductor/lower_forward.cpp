// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "framework/torch/inductor/lowered.h"
#include "ghost/session.h"

namespace memtape::torch::inductor {

namespace {

template <std::size_t N>
bool among(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Reductions of so few numbers are written out as sums (torch/_inductor/config.py,
/// unroll_reductions_threshold).
constexpr std::int64_t kUnrolled = 8;

bool is_reduction(std::string_view op) {
  constexpr auto kReductions = std::to_array<std::string_view>(
      {"mean", "sum", "max", "amax", "linalg_vector_norm", "all", "any", "argmax"});
  return among(op, kReductions);
}

/// Not in the list of what may be computed twice (get_default_op_list of partitioners.py), but code
/// that inductor writes.
bool is_banned(std::string_view op) {
  constexpr auto kBanned = std::to_array<std::string_view>(
      {"embedding", "constant_pad_nd", "cat", "stack", "scatter", "index_put_", "index_copy"});
  return among(op, kBanned);
}

/// Ops that nothing but their operands decides: two over the same are one (fx_graph_cse).
bool has_no_arguments(std::string_view op) {
  constexpr auto kPlain = std::to_array<std::string_view>(
      {"_to_copy", "where", "cos", "sin", "exp", "rsqrt", "sigmoid", "tanh", "bitwise_and", "le"});
  return among(op, kPlain);
}

/// How many FX nodes an op is, about (torch/_inductor/decomposition.py).
std::size_t decomposed_into(std::string_view op) {
  struct Count {
    std::string_view op;
    std::size_t nodes;
  };
  constexpr auto kSeveral = std::to_array<Count>({{"silu", 6},
                                                  {"gelu", 10},
                                                  {"_softmax", 6},
                                                  {"_log_softmax", 6},
                                                  {"native_layer_norm", 11},
                                                  {"_fused_rms_norm", 8},
                                                  {"native_dropout", 5}});
  const auto several = std::find_if(kSeveral.begin(), kSeveral.end(),
                                    [op](const Count& count) { return count.op == op; });
  return several == kSeveral.end() ? 1 : several->nodes;
}

/// One traced op at a time.
class ForwardLowering {
 public:
  explicit ForwardLowering(const TracedPass& pass) : pass_(pass), tape_(ghost::session().tape) {
    for (const ghost::TracedOp& op : pass.forward)
      for (const ghost::TracedRead& read : op.reads) used_.insert(read.block);
    for (const auto& [sequence, blocks] : pass.kept) used_.insert(blocks.begin(), blocks.end());
    for (const ghost::Tensor* output : {&pass.loss, &pass.logits})
      if (output->defined()) used_.insert(output->impl().storage->block);
  }

  Lowered run() {
    for (const ghost::TracedOp& op : pass_.forward) {
      lowered_.graph.add_nodes(decomposed_into(op.name));
      if (!op.makes.empty()) lower(op);
    }
    return std::move(lowered_);
  }

 private:
  void lower(const ghost::TracedOp& op) {
    const std::string_view name = op.name;
    lowered_.graph.enter(tape_.why[op.makes.front()].scope);
    std::vector<ValueId> reads;
    for (const ghost::TracedRead& read : op.reads) reads.push_back(operand(read));
    if (is_kernel(name)) return kernel(op, reads);
    if (name == "_softmax" || name == "_log_softmax") return softmax(op, reads);
    if (name == "native_layer_norm" || name == "_fused_rms_norm") return norm(op, reads);
    if (name == "native_dropout") return dropout(op, reads);
    for (const BlockId block : op.makes)
      put(block, is_reduction(name) && shrinks(op, block) ? reduction(op.name, block, reads)
                                                          : once(op, block, reads));
  }

  ValueId operand(const ghost::TracedRead& read) {
    const ValueId base = lowered_.value_of(read.block, pass_);
    if (read.sizes == sizes_of(read.block)) return base;
    const auto [place, is_new] =
        views_.try_emplace(View{base,
                                {read.sizes.begin(), read.sizes.end()},
                                {read.strides.begin(), read.strides.end()}},
                           base);
    if (is_new) place->second = lowered_.graph.view(read.sizes, base);
    return place->second;
  }
  bool is_piece(const Value& value) const {
    return value.kind == Value::Kind::view &&
           ghost::numel(value.sizes) < ghost::numel(lowered_.graph[value.reads.front()].sizes);
  }

  bool shrinks(const ghost::TracedOp& op, BlockId to) const {
    std::int64_t most = 0;
    for (const ghost::TracedRead& read : op.reads) most = std::max(most, ghost::numel(read.sizes));
    return most > kUnrolled * numbers(to);
  }
  std::int64_t numbers(BlockId block) const { return ghost::numel(sizes_of(block)); }
  DType dtype(BlockId block) const { return tape_.why[block].dtype; }
  void put(BlockId block, ValueId value) { lowered_.values[block] = value; }

  /// What reads a piece of a tensor may read another one than the op before, and is left alone.
  bool is_told_by_operands(const ghost::TracedOp& op, BlockId block,
                           const std::vector<ValueId>& reads) const {
    if (reads.empty())
      return std::string_view(op.name) == "arange" ||
             (std::string_view(op.name) == "where" && numbers(block) == 1);
    if (!is_floating_point(dtype(block))) return true;  // positions and masks, made alike each time
    return has_no_arguments(op.name) && std::none_of(reads.begin(), reads.end(), [&](ValueId read) {
             return is_piece(lowered_.graph[read]);
           });
  }

  /// The value that an op before has made of the same operands, if there is one.
  ValueId once(const ghost::TracedOp& op, BlockId block, const std::vector<ValueId>& reads) {
    if (!is_told_by_operands(op, block, reads)) return fused(op, block, reads);
    const Dims sizes = sizes_of(block);
    const auto [place, is_new] = made_.try_emplace(
        Key{op.name, static_cast<int>(dtype(block)), {sizes.begin(), sizes.end()}, reads},
        ValueId{0});
    if (is_new)
      place->second = is_kernel(op.name)
                          ? lowered_.graph.kernel(op.name, sizes_of(block), dtype(block), reads)
                          : fused(op, block, reads);
    else
      lowered_.graph.drop_nodes();
    return place->second;
  }

  ValueId fused(const ghost::TracedOp& op, BlockId block, const std::vector<ValueId>& reads) {
    const ValueId value = lowered_.graph.fused(op.name, sizes_of(block), dtype(block), reads);
    // A tensor beside itself is an expanded one (fx_passes/joint_graph.py).
    const bool repeats = std::string_view(op.name) == "cat" && reads.size() == 1;
    lowered_.graph[value].banned = lowered_.graph[value].unfusible = is_banned(op.name) && !repeats;
    return value;
  }
  ValueId reduction(const char* name, BlockId block, const std::vector<ValueId>& reads) {
    return lowered_.graph.reduction(name, sizes_of(block), dtype(block), reads);
  }

  /// Its results that somebody reads; the rest it takes while it runs.
  void kernel(const ghost::TracedOp& op, const std::vector<ValueId>& reads) {
    Bytes scratch = 0;
    ValueId last = 0;
    for (const BlockId block : op.makes) {
      if (tape_.why.category(block) == Category::workspace) continue;
      if (block != op.makes.front() && !used_.contains(block)) {
        scratch += tape_.requested[block];
        continue;
      }
      if (std::string_view(op.name) == "cumsum") return put(block, once(op, block, reads));
      last = lowered_.graph.kernel(op.name, sizes_of(block), dtype(block), reads);
      put(block, last);
    }
    lowered_.graph[last].scratch = scratch;
  }

  /// Two numbers a row are found first, in float32: the largest and the sum of what remains.
  void softmax(const ghost::TracedOp& op, std::vector<ValueId> reads) {
    const Dims sizes = sizes_of(op.makes.front());
    Dims rows = sizes;
    rows[-1] = 1;
    const std::vector<ValueId> input = reads;
    for (const char* statistic : {"amax", "sum"})
      reads.push_back(lowered_.graph.reduction(statistic, rows, DType::float32, input));
    lowered_.graph[reads.back()].length = 3;
    put(op.makes.front(), fused(op, op.makes.front(), reads));
    lowered_.graph[lowered_.values[op.makes.front()]].length = 4;
  }

  /// The result comes first, then the statistics of its rows: with them the input is normalized, in
  /// float32, and that is scaled.
  void norm(const ghost::TracedOp& op, std::vector<ValueId> reads) {
    std::vector<ValueId> input{reads.front()}, normalizing = input;
    for (std::size_t i = 1; i < op.makes.size(); ++i) {
      put(op.makes[i], reduction("var_mean", op.makes[i], input));
      normalizing.push_back(lowered_.values[op.makes[i]]);
      lowered_.graph[normalizing.back()].length = 2;
    }
    lowered_.graph[normalizing.back()].length = 4;
    reads.front() =
        lowered_.graph.fused("mul", sizes_of(op.makes.front()), DType::float32, normalizing);
    lowered_.graph[reads.front()].length = 2;
    lowered_.normalized[normalizing.back()] = reads.front();
    put(op.makes.front(), fused(op, op.makes.front(), reads));
    lowered_.graph[lowered_.values[op.makes.front()]].length = 3;
  }

  /// The mask is made of random numbers that are not drawn twice.
  void dropout(const ghost::TracedOp& op, std::vector<ValueId> reads) {
    const ValueId mask = fused(op, op.makes.front(), {});
    lowered_.graph[mask].banned = true;
    put(op.makes.front(), mask);
    reads.push_back(mask);
    put(op.makes.back(), fused(op, op.makes.back(), reads));
    lowered_.graph[lowered_.values[op.makes.back()]].length = 2;
  }

  using View = std::tuple<ValueId, std::vector<std::int64_t>, std::vector<std::int64_t>>;
  using Key = std::tuple<std::string_view, int, std::vector<std::int64_t>, std::vector<ValueId>>;

  const TracedPass& pass_;
  const Tape& tape_;
  Lowered lowered_;
  std::map<Key, ValueId> made_;
  std::map<View, ValueId> views_;
  std::unordered_set<BlockId> used_;
};

}  // namespace

bool is_kernel(std::string_view op) {
  constexpr auto kKernels = std::to_array<std::string_view>(
      {"mm", "addmm", "bmm", "baddbmm", "_efficient_attention_forward", "_flash_attention_forward",
       "cumsum", "sort", "topk", "convolution", "_grouped_mm"});
  return among(op, kKernels);
}

Dims sizes_of(BlockId block) {
  const Tape& tape = ghost::session().tape;
  const Why why = tape.why[block];
  Dims sizes;
  for (std::uint8_t d = 0; d < why.shape.rank; ++d) sizes.push_back(why.shape.dims[d]);
  const std::int64_t count = tape.requested[block] * 8 / bits(why.dtype);
  return ghost::numel(sizes) == count ? sizes : Dims{count};
}

ValueId Lowered::value_of(BlockId block, const TracedPass& pass) {
  if (const auto found = values.find(block); found != values.end()) return found->second;
  const Why why = ghost::session().tape.why[block];
  const ValueId value = graph.input("", sizes_of(block), why.dtype);
  graph[value].is_static = block < pass.built_blocks;
  values[block] = value;
  return value;
}

Lowered lower_forward(const TracedPass& pass) { return ForwardLowering(pass).run(); }

}  // namespace memtape::torch::inductor
