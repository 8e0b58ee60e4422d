// SPDX-License-Identifier: Apache-2.0
// AttentionOf: the attention of decoders with a rotation, LlamaAttention of transformers 5.17
// models/llama/modeling_llama.py and the copies of it that other families carry. What a copy does
// in its own way is its Steps, made with (scope, config, layer) once the projections are there. It
// rotates q and k [B, H, S, D] when called with them and the cos and sin (what that returns is held
// until the end, as forward's locals are), and may have
//
//   projected_query(q), projected_key(k)   for one projection [B, S, H D] before the next is made
//   projected(q, k, v)                     for all three of them
//   query_heads(q), key_heads(k)           for one taken apart into heads, [B, S, H, D]
//   transposed_key(k)                      for keys [B, H, S, D] before values are made
//   heads(q, k)                            for both of them
//   attend(call, q, k, v, attention_mask)  in place of the attention function
//   gated(attn_output, x)                  for what is attended, [B, S, H, D], and the layer's input
//   attended(attn_output)                  before the output projection
//   finish(attn_output)                    behind it
//   kOutput                                the output projection's name
//   kInterfaceSince                        from when on it calls attention_interface
//   kAddedMaskInPlace                      whether eager attention added the mask in place before
//
// Whether one projection is taken apart before the next is made decides in which order backward
// meets them, and so what is alive together: it follows from which of these there are.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "family/caches/key_value_cache.h"
#include "family/parts/attention_interface.h"
#include "family/parts/decoder.h"
#include "family/parts/rotary_tables.h"
#include "nn/layer_frame.h"
#include "nn/layers.h"
#include "release/transformers_4_changes.h"

namespace memtape::family {

/// What modules hand to the attention function that their configuration names.
AttentionCall attention_call(const DecoderConfig& config);

template <class Steps>
class AttentionOf : public nn::Module<AttentionOf<Steps>> {
 public:
  template <class Settings>
  AttentionOf(const nn::Scope& scope, const Settings& c, std::int64_t layer = 0)
      : nn::Module<AttentionOf>(scope),
        call_(attention_call(c)),
        head_dim_(c.head_dim),
        q_proj_(scope / "q_proj", c.hidden_size, c.num_attention_heads * c.head_dim, c.qkv_bias),
        k_proj_(scope / "k_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        v_proj_(scope / "v_proj", c.hidden_size, c.num_key_value_heads * c.head_dim, c.qkv_bias),
        o_proj_(scope / output_name(), c.num_attention_heads * c.head_dim, c.hidden_size, c.o_bias),
        steps_(scope, c, layer) {
    if constexpr (requires { Steps::kInterfaceSince; })
      call_.interface_since = &Steps::kInterfaceSince;
    if constexpr (requires { Steps::kAddedMaskInPlace; }) call_.added_mask_in_place = true;
    if (c.own_ropes == OwnRopes::none) return;
    add_own_rope(scope / "rotary_emb", c.rope, c.early);
    asks_own_rope_ = rotary_emb_ && c.own_ropes == OwnRopes::asked;
    call_.picks_mask_rows = c.early.masks == EarlyMasks::of_all_positions;
  }

  /// If each attention makes cos and sin itself, `position_embeddings` holds the positions.
  Tensor forward(const Tensor& hidden_states, const Tensor& attention_mask,
                 const CosSin& position_embeddings) {
    const Dims input_shape = hidden_states.sizes().leading();
    States states = project(hidden_states, input_shape.with(-1).with(head_dim_));
    const CosSin own =
        asks_own_rope_ ? (*rotary_emb_)(states.value, position_embeddings.first) : CosSin{};
    const CosSin rows = tables_ ? (*tables_)(states.value) : CosSin{};
    [[maybe_unused]] const auto held =
        tables_ ? rotate(states, look_up(rows, position_embeddings.first))
                : rotate(states, asks_own_rope_ ? own : position_embeddings);
    KeyValueCache::update(states.key, states.value);
    Tensor attn_output = attend(states, attention_mask);
    if constexpr (requires { steps_.gated(attn_output, hidden_states); })
      attn_output = steps_.gated(attn_output, hidden_states);
    attn_output = attn_output.reshape(input_shape.with(-1)).contiguous();
    if constexpr (requires { steps_.attended(attn_output); })
      attn_output = steps_.attended(attn_output);
    attn_output = o_proj_(attn_output);
    if constexpr (requires { steps_.finish(attn_output); }) steps_.finish(attn_output);
    if (!ghost::has(*call_.interface_since)) nn::LayerFrame::keep_attention_weights({});
    return attn_output;
  }

 private:
  struct States {
    Tensor query, key, value;
  };

  void add_own_rope(const nn::Scope& scope, const RopeParameters& rope, const EarlyDecoder& early) {
    if (early.looks_up) {
      tables_.emplace(scope, rope, early.positions);
      return;
    }
    rotary_emb_.emplace(scope, rope);
    if (early.positions > 0)
      add_rotary_tables(scope, rope, rotary_emb_->inv_freq(), early.positions, scope.dtype());
  }

  Tensor attend(States& s, const Tensor& attention_mask) {
    if constexpr (requires { steps_.attend(call_, s.query, s.key, s.value, attention_mask); })
      return steps_.attend(call_, s.query, s.key, s.value, attention_mask);
    return ghost::has(*call_.interface_since)
               ? attention_interface(call_, s.query, s.key, s.value, attention_mask)
               : written_out_attention(call_, s.query, s.key, s.value, attention_mask);
  }

  static constexpr const char* output_name() {
    if constexpr (requires { Steps::kOutput; })
      return Steps::kOutput;
    else
      return "o_proj";
  }

  auto rotate(States& s, const CosSin& cos_sin) {
    if constexpr (std::is_void_v<decltype(steps_(s.query, s.key, cos_sin))>) {
      steps_(s.query, s.key, cos_sin);
      return nullptr;
    } else {
      return steps_(s.query, s.key, cos_sin);
    }
  }

  States project(const Tensor& x, const Dims& hidden_shape) {
    if constexpr (requires(States s) { steps_.projected(s.query, s.key, s.value); })
      return project_all_first(x, hidden_shape);
    else if constexpr (requires(States s) { steps_.heads(s.query, s.key); })
      return take_all_apart_first(x, hidden_shape);
    else
      return ghost::has(changes::kProjectionsAreTakenApartAtOnce)
                 ? one_after_another(x, hidden_shape)
                 : project_all_first(x, hidden_shape);
  }

  States one_after_another(const Tensor& x, const Dims& hidden_shape) {
    States s;
    s.query = q_proj_(x).view(hidden_shape);
    if constexpr (requires { steps_.query_heads(s.query); }) s.query = steps_.query_heads(s.query);
    s.query = s.query.transpose(1, 2);
    s.key = k_proj_(x).view(hidden_shape);
    if constexpr (requires { steps_.key_heads(s.key); }) s.key = steps_.key_heads(s.key);
    s.key = s.key.transpose(1, 2);
    if constexpr (requires { steps_.transposed_key(s.key); }) s.key = steps_.transposed_key(s.key);
    s.value = v_proj_(x).view(hidden_shape).transpose(1, 2);
    return s;
  }

  States project_all_first(const Tensor& x, const Dims& hidden_shape) {
    States s;
    s.query = q_proj_(x);
    if constexpr (requires { steps_.projected_query(s.query); })
      s.query = steps_.projected_query(s.query);
    s.key = k_proj_(x);
    if constexpr (requires { steps_.projected_key(s.key); }) s.key = steps_.projected_key(s.key);
    s.value = v_proj_(x);
    if constexpr (requires { steps_.projected(s.query, s.key, s.value); })
      steps_.projected(s.query, s.key, s.value);
    for (Tensor* each : {&s.query, &s.key, &s.value})
      *each = each->view(hidden_shape).transpose(1, 2);
    return s;
  }

  States take_all_apart_first(const Tensor& x, const Dims& hidden_shape) {
    States s;
    if (ghost::has(changes::kProjectionsAreTakenApartAtOnce)) {
      s.query = q_proj_(x).view(hidden_shape);
      s.key = k_proj_(x).view(hidden_shape);
      s.value = v_proj_(x).view(hidden_shape);
    } else {
      s = {q_proj_(x), k_proj_(x), v_proj_(x)};
      for (Tensor* each : {&s.query, &s.key, &s.value}) *each = each->view(hidden_shape);
    }
    steps_.heads(s.query, s.key);
    for (Tensor* each : {&s.query, &s.key, &s.value}) *each = each->transpose(1, 2);
    return s;
  }

  AttentionCall call_;
  std::int64_t head_dim_;
  nn::Linear q_proj_, k_proj_, v_proj_, o_proj_;
  Steps steps_;
  std::optional<RotaryEmbedding> rotary_emb_;  ///< see OwnRopes
  std::optional<RotaryTables> tables_;         ///< in place of it, see EarlyDecoder
  bool asks_own_rope_ = false;
};

/// Returns q and k rotated, in this order.
using Rotation = std::pair<Tensor, Tensor> (*)(const Tensor& q, const Tensor& k,
                                               const CosSin& cos_sin);

/// Steps that only rotate.
template <Rotation rotation>
struct Rotated {
  Rotated(const nn::Scope&, const DecoderConfig&, std::int64_t) {}
  void operator()(Tensor& q, Tensor& k, const CosSin& cos_sin) const {
    std::tie(q, k) = rotation(q, k, cos_sin);
  }
};

/// The same, but it rotates after all three projections exist (Mllama, Qwen2-VL).
template <Rotation rotation>
struct ProjectedThenRotated : Rotated<rotation> {
  using Rotated<rotation>::Rotated;
  void projected(Tensor&, Tensor&, Tensor&) const {}
};

/// The names of the norms of q and k.
struct NormNames {
  const char *query = "q_norm", *key = "k_norm";
};

/// Norms of q and k, whose weights have the given shapes.
template <class Norm>
struct NormPair {
  template <class Shape>
  NormPair(const nn::Scope& scope, const Shape& query, const Shape& key, const NormNames& names)
      : q_norm(scope / names.query, query), k_norm(scope / names.key, key) {}
  void operator()(Tensor& q, Tensor& k) {
    q = q_norm(q);
    k = k_norm(k);
  }
  Norm q_norm, k_norm;
};

/// Normalizes each head of q and k.
template <class Norm>
struct HeadNorms : NormPair<Norm> {
  HeadNorms(const nn::Scope& scope, const DecoderConfig& c, const NormNames& names = {})
      : NormPair<Norm>(scope, c.head_dim, c.head_dim, names) {}
};

/// Normalizes all heads of q at once as soon as q is projected, and k likewise (Olmo2Attention of
/// models/olmo2/modular_olmo2.py).
template <class Norm, Rotation rotation>
struct WholeNorms : ProjectedThenRotated<rotation> {
  WholeNorms(const nn::Scope& scope, const DecoderConfig& c, std::int64_t layer)
      : ProjectedThenRotated<rotation>(scope, c, layer),
        q_norm(scope / "q_norm", c.num_attention_heads * c.head_dim),
        k_norm(scope / "k_norm", c.num_key_value_heads * c.head_dim) {}
  Tensor projected_query(const Tensor& q) { return q_norm(q); }
  Tensor projected_key(const Tensor& k) { return k_norm(k); }
  Norm q_norm, k_norm;
};

}  // namespace memtape::family
