// SPDX-License-Identifier: Apache-2.0
#include "framework/megatron/head_exchange.h"

#include <algorithm>
#include <span>
#include <vector>

namespace memtape::megatron {
namespace {

using ghost::empty;
using ghost::Gradients;

/// flash_attn_a2a_communicate: while one tensor is on its way, the next is laid out for its
/// receivers and the one before is put in order. What is sent stays until all have come.
class HeadExchange {
 public:
  HeadExchange(Rank& rank, int tokens) : rank_(rank), tokens_(tokens) {}

  /// before_attn: from all heads of some tokens to some heads of all tokens.
  void to_heads(std::span<Tensor> tensors) const {
    rank_.use_chunk_order(true);
    const ghost::Op op("flash_attn_a2a_communicate", {});
    Messages all(tensors);
    for (std::size_t i = 0; i < tensors.size() + 2; ++i) {
      all.send(i - 1);
      order(all, i - 2, rank_.a.cp, 1);
      all.lay_out(i);
    }
    std::ranges::move(all.received, tensors.begin());
  }

  /// The way back.
  void to_tokens(std::span<Tensor> tensors) const {
    rank_.use_chunk_order(false);
    const ghost::Op op("flash_attn_a2a_communicate", {});
    Messages all(tensors);
    for (std::size_t i = 0; i < tensors.size() + 2; ++i) {
      all.send(i - 1);
      all.lay_out(i);
      order(all, i - 2, 1, rank_.a.cp);
    }
    std::ranges::move(all.received, tensors.begin());
  }

 private:
  /// An index before the first tensor or behind the last is that of none.
  struct Messages {
    explicit Messages(std::span<const Tensor> tensors)
        : sent(tensors.begin(), tensors.end()), received(tensors.size()) {}
    void lay_out(std::size_t i) {
      if (i < sent.size()) sent[i] = like(sent[i]);
    }
    void send(std::size_t i) {
      if (i < sent.size()) received[i] = like(sent[i]);
    }
    static Tensor like(const Tensor& t) {
      return empty(t.sizes(), t.dtype(), Category::communication);
    }
    std::vector<Tensor> sent, received;
  };

  /// The sequence becomes `longer` times as long, and has `wider` times as many heads.
  void order(Messages& all, std::size_t i, std::int64_t longer, std::int64_t wider) const {
    if (i >= all.received.size()) return;
    const ghost::StreamGuard side(rank_.cp_stream());
    Dims sizes = all.received[i].sizes();
    sizes[tokens_] = sizes[tokens_] * longer / wider;
    sizes[2] = sizes[2] * wider / longer;
    Tensor ordered = empty(sizes, all.received[i].dtype());
    all.received[i] = std::move(ordered);
  }

  Rank& rank_;
  int tokens_;
};

}  // namespace

Tensor exchanged_heads_attention(Rank& rank, const std::array<Tensor, 3>& qkv, int tokens,
                                 const Dims& rows, AttentionScratch scratch) {
  const HeadExchange exchange(rank, tokens);
  const auto forward = [&](ToSave& save) {
    std::array<Tensor, 3> there = qkv;
    exchange.to_heads(there);
    const Tensor& query = there[0];
    const Tensor part = empty(query.sizes().leading().with(there[2].size(-1)), query.dtype());
    save = {
        there[0], there[1], there[2], part, empty(rows, DType::float32), empty({2}, DType::int64)};
    std::array<Tensor, 1> out{part};
    exchange.to_tokens(out);
    return out[0];
  };
  const auto backward = [exchange, scratch = std::move(scratch)](
                            std::span<const Tensor> saved, const Tensor& grad, Gradients& in) {
    std::array<Tensor, 1> out_grad{grad};
    exchange.to_heads(out_grad);
    std::array<Tensor, 3> there;
    for (std::size_t i = 0; i < 3; ++i) there[i] = empty(saved[i].sizes(), saved[i].dtype());
    if (scratch) scratch(saved[0], saved[1]);
    std::array<Tensor, 3> here = there;
    exchange.to_tokens(here);
    for (std::size_t i = 0; i < 3; ++i) in[i] = std::move(here[i]);
  };
  return apply({.name = "AttnFuncWithCPAndQKVOA2ABackward",
                .inputs = {qkv[0], qkv[1], qkv[2]},
                .forward = forward,
                .backward = backward});
}

}  // namespace memtape::megatron
