// SPDX-License-Identifier: Apache-2.0
// llama-quant.cpp, tensor by tensor: which may be quantized, what mix the file type gives them,
// what a row of odd length falls back to.
#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "framework/llamacpp/file_type.h"

namespace memtape::llamacpp {
namespace {

using ggml::Type;
using FT = FileType;

enum class TensorCategory : std::uint8_t {
  token_embd,
  attn_q,
  attn_v,  ///< V alone, with Q and K, or within a compressed KV
  attn_k,
  attn_output,
  ffn_up,
  ffn_gate,
  ffn_down,
  output,
  other,
};

bool has_part(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

TensorCategory category_of(std::string_view name) {
  struct Rule {
    std::string_view part;
    TensorCategory category;
  };
  constexpr std::array kRules{
      Rule{"attn_qkv.weight", TensorCategory::attn_v},
      Rule{"attn_kv_b.weight", TensorCategory::attn_v},
      Rule{"attn_v.weight", TensorCategory::attn_v},
      Rule{"attn_k.weight", TensorCategory::attn_k},
      Rule{"attn_q.weight", TensorCategory::attn_q},
      Rule{"attn_output.weight", TensorCategory::attn_output},
      Rule{"ffn_up", TensorCategory::ffn_up},
      Rule{"ffn_gate", TensorCategory::ffn_gate},
      Rule{"ffn_down", TensorCategory::ffn_down},
  };
  if (name == "output.weight") return TensorCategory::output;
  if (name == "token_embd.weight" || name == "per_layer_token_embd.weight")
    return TensorCategory::token_embd;
  for (const Rule& rule : kRules)
    if (has_part(name, rule.part)) return rule.category;
  return TensorCategory::other;
}

/// tensor_allows_quantization; what it refuses stays as it is stored, without a file as converted:
/// in F32.
bool may_be_quantized(const Weight& w) {
  constexpr std::array<std::string_view, 27> kNever{"_norm.weight",
                                                    "ffn_gate_inp.weight",
                                                    "ffn_gate_tid2eid.weight",
                                                    "altup",
                                                    "laurel",
                                                    "per_layer_model_proj",
                                                    "ssm_conv1d",
                                                    "shortconv.conv.weight",
                                                    "indexer.k_proj.weight",
                                                    "indexer.q_proj.weight",
                                                    "time_mix_first.weight",
                                                    "time_mix_w0.weight",
                                                    "time_mix_w1.weight",
                                                    "time_mix_w2.weight",
                                                    "time_mix_v0.weight",
                                                    "time_mix_v1.weight",
                                                    "time_mix_v2.weight",
                                                    "time_mix_a0.weight",
                                                    "time_mix_a1.weight",
                                                    "time_mix_a2.weight",
                                                    "time_mix_g1.weight",
                                                    "time_mix_g2.weight",
                                                    "time_mix_decay_w1.weight",
                                                    "time_mix_decay_w2.weight",
                                                    "time_mix_lerp_fused.weight",
                                                    "attn_rel_b.weight",
                                                    ".position_embd"};
  const bool matrix = w.ne[1] > 1 || w.ne[2] > 1 || w.ne[3] > 1;
  if (!matrix || !w.name.ends_with("weight")) return false;
  if (w.name == "position_embd.weight" || w.name == "token_types.weight") return false;
  return std::ranges::none_of(kNever,
                              [&](std::string_view part) { return has_part(w.name, part); });
}

std::optional<Type> base_type(FT type) {
  switch (type) {
    case FT::f32: return Type::f32;
    case FT::f16: return Type::f16;
    case FT::bf16: return Type::bf16;
    case FT::q4_0: return Type::q4_0;
    case FT::q4_1: return Type::q4_1;
    case FT::q5_0: return Type::q5_0;
    case FT::q5_1: return Type::q5_1;
    case FT::q8_0: return Type::q8_0;
    case FT::q1_0: return Type::q1_0;
    case FT::q2_0: return Type::q2_0;
    case FT::mxfp4_moe: return Type::mxfp4;
    case FT::q2_k:
    case FT::q2_k_s: return Type::q2_k;
    case FT::q3_k_s:
    case FT::q3_k_m:
    case FT::q3_k_l: return Type::q3_k;
    case FT::q4_k_s:
    case FT::q4_k_m: return Type::q4_k;
    case FT::q5_k_s:
    case FT::q5_k_m: return Type::q5_k;
    case FT::q6_k: return Type::q6_k;
    case FT::tq1_0: return Type::tq1_0;
    case FT::tq2_0: return Type::tq2_0;
    case FT::iq2_xxs: return Type::iq2_xxs;
    case FT::iq2_xs:
    case FT::iq2_s: return Type::iq2_xs;
    case FT::iq2_m: return Type::iq2_s;
    case FT::iq3_xxs: return Type::iq3_xxs;
    case FT::iq3_xs:
    case FT::iq3_s:
    case FT::iq3_m: return Type::iq3_s;
    case FT::iq1_s: return Type::iq1_s;
    case FT::iq1_m: return Type::iq1_m;
    case FT::iq4_nl: return Type::iq4_nl;
    case FT::iq4_xs: return Type::iq4_xs;
    case FT::nvfp4: return std::nullopt;  // only conversion makes it
  }
  return std::nullopt;
}

constexpr std::int64_t kSmallBlock = 32;

/// tensor_type_fallback; nothing where the tool gives up.
std::optional<Type> fitting(Type type, std::int64_t row) {
  if (row % ggml::block_size(type) == 0) return type;
  Type other = type;
  switch (type) {
    case Type::iq1_s:
    case Type::iq1_m:
    case Type::iq2_xxs:
    case Type::iq2_xs:
    case Type::iq2_s:
    case Type::iq3_xxs:
    case Type::iq3_s:
    case Type::iq4_xs: other = Type::iq4_nl; break;
    case Type::q2_0:
    case Type::q2_k:
    case Type::q3_k:
    case Type::tq1_0:
    case Type::tq2_0: other = Type::q4_0; break;
    case Type::q4_k: other = Type::q5_0; break;
    case Type::q5_k: other = Type::q5_1; break;
    case Type::q6_k: other = Type::q8_0; break;
    default:
      if (ggml::block_size(type) > kSmallBlock) return std::nullopt;
      break;
  }
  return row % ggml::block_size(other) == 0 ? other : Type::f16;
}

template <class... T>
bool is(FT type, T... any) {
  return ((type == any) || ...);
}

/// The first and last eighth, and every third layer between.
bool more_bits(std::int64_t layer, std::int64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

/// llama_tensor_get_type_impl: the weights in order, with counters of what came before.
class Mix {
 public:
  Mix(const Hyperparameters& hp, FT type, bool tied, std::int64_t values)
      : hp_(hp), ft_(type), falcon_(hp.arch == "falcon"), tied_(tied), n_v_(values) {}

  Type of(const Weight& w, Type base) {
    const TensorCategory c = category_of(w.name);
    if (c == TensorCategory::output || (tied_ && c == TensorCategory::token_embd))
      return output(w, base);
    if (ft_ == FT::mxfp4_moe) return w.ne[2] > 1 ? Type::mxfp4 : Type::q8_0;
    if (c == TensorCategory::token_embd) return embeddings(base);
    if (is(ft_, FT::iq2_xxs, FT::iq2_xs, FT::iq1_s, FT::iq2_s, FT::iq2_m, FT::iq1_m))
      return below_three_bits(c, base);
    switch (c) {
      case TensorCategory::attn_v: return values(base);
      case TensorCategory::attn_k:
        if (hp_.n_expert == 8) return Type::q8_0;
        return queries(base);
      case TensorCategory::attn_q: return queries(base);
      case TensorCategory::ffn_down: return down(w, base);
      case TensorCategory::attn_output: return attention_output(base);
      case TensorCategory::ffn_gate: return gate_or_up(w, base, i_gate_++);
      case TensorCategory::ffn_up: return gate_or_up(w, base, i_up_++);
      default: return base;
    }
  }

 private:
  Type output(const Weight& w, Type base) const {
    if (ft_ == FT::mxfp4_moe || falcon_ || w.ne[0] % ggml::block_size(base) != 0) return Type::q8_0;
    if (is(ft_, FT::iq2_xxs, FT::iq2_xs, FT::iq3_xxs, FT::iq1_s, FT::iq2_s, FT::iq2_m, FT::iq1_m))
      return Type::q5_k;
    return base == Type::q8_0 ? base : Type::q6_k;
  }

  Type embeddings(Type base) const {
    if (is(ft_, FT::iq2_xxs, FT::iq2_xs, FT::iq1_s, FT::iq1_m)) return Type::q2_k;
    if (is(ft_, FT::iq2_s, FT::iq2_m, FT::iq3_xxs)) return Type::iq3_s;
    if (is(ft_, FT::tq1_0, FT::tq2_0, FT::q2_0)) return Type::q4_k;
    return base;
  }

  Type below_three_bits(TensorCategory c, Type base) {
    const bool s_or_m = is(ft_, FT::iq2_s, FT::iq2_m);
    switch (c) {
      case TensorCategory::attn_v:
        ++i_v_;
        if (hp_.n_gqa() >= 4 || hp_.n_expert >= 4) return Type::q4_k;
        return s_or_m ? Type::iq3_s : Type::q2_k;
      case TensorCategory::attn_k: return hp_.n_expert == 8 ? Type::q4_k : base;
      case TensorCategory::ffn_down:
        if (i_down_++ < hp_.n_layer_all / 8) return s_or_m ? Type::iq3_s : Type::q2_k;
        return base;
      case TensorCategory::attn_output:
        if (hp_.n_expert == 8) return Type::q5_k;
        if (is(ft_, FT::iq1_s, FT::iq1_m)) return Type::iq2_xxs;
        return s_or_m ? Type::iq3_s : base;
      default: return base;
    }
  }

  Type values(Type base) {
    Type type = values_by_file_type(base);
    if (hp_.is_70b && (type == Type::q3_k || type == Type::q4_k)) type = Type::q5_k;
    if (hp_.n_expert == 8) type = Type::q8_0;
    ++i_v_;
    return type;
  }

  Type values_by_file_type(Type base) const {
    const bool grouped = hp_.n_gqa() >= 4;
    switch (ft_) {
      case FT::q2_k: return grouped ? Type::q4_k : Type::q3_k;
      case FT::q2_k_s:
      case FT::iq3_xs:
      case FT::iq3_s: return grouped ? Type::q4_k : base;
      case FT::iq3_xxs: return grouped ? Type::q4_k : Type::iq3_s;
      case FT::iq3_m: return Type::q4_k;
      case FT::q3_k_m: return i_v_ < 2 ? Type::q5_k : Type::q4_k;
      case FT::q3_k_l: return Type::q5_k;
      case FT::iq4_nl:
      case FT::iq4_xs: return grouped ? Type::q5_k : base;
      case FT::q4_k_m:
      case FT::q5_k_m: return more_bits(i_v_, n_v_) ? Type::q6_k : base;
      case FT::q4_k_s: return i_v_ < 4 ? Type::q5_k : base;
      default: return base;
    }
  }

  Type queries(Type base) const {
    if (ft_ == FT::iq3_xs) return Type::iq3_xxs;
    return ft_ == FT::iq3_xxs ? Type::iq2_s : base;
  }

  /// With experts the layer is the block's number, else how many came before.
  std::int64_t layer_of(const Weight& w, std::int64_t before) const {
    return hp_.n_expert > 1 ? w.layer : before;
  }

  Type down(const Weight& w, Type base) {
    const std::int64_t i = layer_of(w, i_down_++), n = hp_.n_layer_all;
    switch (ft_) {
      case FT::q2_k: return Type::q3_k;
      case FT::q2_k_s: return i < n / 8 ? Type::q4_k : base;
      case FT::iq3_xxs: return i < n / 8 ? Type::q4_k : Type::q3_k;
      case FT::q3_k_m:
        if (i < n / 16) return Type::q5_k;
        return !falcon_ || more_bits(i, n) ? Type::q4_k : Type::q3_k;
      case FT::iq3_m:
        return i < n / 8 || (hp_.n_expert == 8 && more_bits(i, n)) ? Type::q4_k : base;
      case FT::q3_k_l: return falcon_ ? Type::q4_k : Type::q5_k;
      case FT::q4_k_m:
        if (falcon_) return i < n / 16 ? Type::q6_k : more_bits(i, n) ? Type::q5_k : Type::q4_k;
        return more_bits(i, n) ? Type::q6_k : base;
      case FT::iq4_nl:
      case FT::iq4_xs: return i < n / 8 ? Type::q5_k : base;
      case FT::q5_k_m: return more_bits(i, n) ? Type::q6_k : base;
      case FT::q4_k_s: return !falcon_ && i < n / 8 ? Type::q5_k : base;
      default: return base;
    }
  }

  Type attention_output(Type base) const {
    if (falcon_) return ft_ == FT::q3_k_l ? Type::q4_k : base;
    if (hp_.n_expert == 8)
      return is(ft_, FT::q2_k, FT::iq3_xs, FT::iq3_xxs, FT::q3_k_s, FT::q3_k_m, FT::iq4_nl,
                FT::q4_k_s, FT::q4_k_m, FT::iq3_s, FT::iq3_m, FT::iq4_xs)
                 ? Type::q5_k
                 : base;
    switch (ft_) {
      case FT::q2_k: return Type::q3_k;
      case FT::iq3_xxs: return Type::iq3_s;
      case FT::q3_k_m:
      case FT::iq3_m: return Type::q4_k;
      case FT::q3_k_l: return Type::q5_k;
      default: return base;
    }
  }

  Type gate_or_up(const Weight& w, Type base, std::int64_t before) const {
    const std::int64_t i = layer_of(w, before), n = hp_.n_layer_all;
    return ft_ == FT::iq3_xs && i >= n / 8 && i < 7 * n / 8 ? Type::iq3_xxs : base;
  }

  const Hyperparameters& hp_;
  FT ft_;
  bool falcon_, tied_;
  std::int64_t n_v_, i_v_ = 0, i_down_ = 0, i_gate_ = 0, i_up_ = 0;
};

/// The order in which the tool meets them: what has no layer, then the layers, each by name.
std::vector<Weight*> in_order(std::span<Weight> weights) {
  std::vector<Weight*> order;
  for (Weight& w : weights)
    if (!w.duplicate) order.push_back(&w);
  std::ranges::sort(order, {}, [](const Weight* w) {
    return std::tuple(w->name.starts_with("blk.") ? w->layer : -1, std::string_view(w->name));
  });
  return order;
}

void type_duplicates(std::span<Weight> weights) {
  for (Weight& w : weights)
    if (w.duplicate)
      for (const Weight& original : weights)
        if (!original.duplicate && original.name == w.name) w.type = original.type;
}

}  // namespace

Result<void> quantize(std::span<Weight> weights, const Hyperparameters& hp, FileType type) {
  const std::optional<Type> base = base_type(type);
  if (!base)
    return unsupported("llama-quantize does not make it", std::string(name(type)),
                       "a GGUF file of that type says its tensors' types itself");
  const std::vector<Weight*> order = in_order(weights);
  const bool tied = std::ranges::none_of(
      order, [](const Weight* w) { return category_of(w->name) == TensorCategory::output; });
  const auto values = std::ranges::count_if(
      order, [](const Weight* w) { return category_of(w->name) == TensorCategory::attn_v; });
  Mix mix(hp, type, tied, values);
  for (Weight* w : order) {
    if (!may_be_quantized(*w)) continue;
    if (!ggml::is_quantized(*base))
      w->type = *base;
    else if (const auto fits = fitting(mix.of(*w, *base), w->ne[0]))
      w->type = *fits;
    else
      return unsupported(
          fmt::format("rows of {} do not divide into its blocks, and it has no substitute",
                      w->ne[0]),
          std::string(name(type)), "Q4_K_M");
  }
  type_duplicates(weights);
  return {};
}

}  // namespace memtape::llamacpp
