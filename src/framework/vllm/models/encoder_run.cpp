// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/encoder_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "framework/vllm/models/encoder_ops.h"
#include "framework/vllm/models/gemma4_encoder.h"
#include "framework/vllm/models/idefics3_encoder.h"
#include "framework/vllm/models/internvl_encoder.h"
#include "framework/vllm/models/llama4_encoder.h"
#include "framework/vllm/models/moonvit_encoder.h"
#include "framework/vllm/models/older_qwen_encoder.h"
#include "framework/vllm/models/vision.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

enum class Family : std::uint8_t { qwen2_vl, qwen2_5_vl, qwen3_vl, siglip, clip, pixtral };

/// Sizes of a tower, from its vision_config.
struct TowerShape {
  Family family = Family::siglip;
  std::int64_t hidden = 0, heads = 0, inner = 0;
  std::int64_t patch_values = 0;  ///< of one patch: channels, frames, rows and columns
  std::int64_t merged = 1;        ///< patches that become one token
  std::int64_t out = 0;           ///< the text model's width
  std::int64_t deep_outputs = 0;  ///< outputs of inner layers beside the last one (Qwen3-VL)
};

Family family_of(std::string_view tower, std::string_view model) {
  if (tower == "siglip_vision_model") return Family::siglip;
  if (tower == "clip_vision_model") return Family::clip;
  if (tower == "pixtral") return Family::pixtral;
  if (tower.starts_with("qwen2_5_vl") || model == "qwen2_5_vl") return Family::qwen2_5_vl;
  if (tower.starts_with("qwen2_vl") || model == "qwen2_vl") return Family::qwen2_vl;
  return Family::qwen3_vl;
}

TowerShape qwen_shape(const Config& c, Family family) {
  TowerShape shape{.family = family,
                   .hidden = c.dimension({"embed_dim", "hidden_size"}),
                   .heads = c.dimension("num_heads", 16),
                   .patch_values = c.dimension({"in_channels", "in_chans"}, 3) *
                                   c.dimension("temporal_patch_size", 2) *
                                   squared(c.dimension("patch_size", 14)),
                   .merged = squared(c.dimension("spatial_merge_size", 2))};
  shape.inner = family == Family::qwen2_vl ? shape.hidden * c.integer("mlp_ratio", 4)
                                           : c.dimension("intermediate_size");
  shape.out = c.dimension({"out_hidden_size", "hidden_size"});
  shape.deep_outputs = static_cast<std::int64_t>(c.integers("deepstack_visual_indexes").size());
  return shape;
}

TowerShape shape_of(const Config& model) {
  const Config c = model.object("vision_config");
  const Family family = family_of(type_of(c), type_of(model));
  const bool is_qwen =
      family == Family::qwen2_vl || family == Family::qwen2_5_vl || family == Family::qwen3_vl;
  if (is_qwen) return qwen_shape(c, family);
  return {
      .family = family,
      .hidden = c.dimension("hidden_size"),
      .heads = c.dimension("num_attention_heads"),
      .inner = c.dimension("intermediate_size"),
      .patch_values = 3 * squared(c.dimension("patch_size", 14)),
      .merged = family == Family::pixtral ? squared(model.dimension("spatial_merge_size", 2)) : 1,
      .out = model.dimension("hidden_size")};
}

/// The run of one batch. Tensors are [patches, width] whatever Python's shapes are.
class EncoderRun : EncoderOps {
 public:
  EncoderRun(const Runtime& runtime, const Encoders& encoders)
      : EncoderOps(runtime),
        shape_(shape_of(runtime.config)),
        items_(encoders.items),
        patches_(encoders.items * encoders.item.patches),
        tokens_(encoders.item.tokens) {}

  std::vector<Tensor> run() {
    const Tensor pixel_values = make(patches_, shape_.patch_values);
    Tensor hidden_states = make(patches_, shape_.hidden);  // the patches' embedding
    Tensor positions;
    switch (shape_.family) {
      case Family::qwen2_5_vl: hidden_states = make(patches_, shape_.hidden); break;  // by windows
      case Family::qwen3_vl: positions = make(patches_, shape_.hidden); [[fallthrough]];
      case Family::siglip:
      case Family::clip: hidden_states = make(patches_, shape_.hidden); break;
      case Family::pixtral: hidden_states = rms_norm(hidden_states); break;
      case Family::qwen2_vl: break;
    }
    const Tensor cos = make(patches_, rotary_width()), sin = make(patches_, rotary_width());
    hidden_states = layer(std::move(hidden_states));
    return outputs(std::move(hidden_states));
  }

 private:
  bool is_rotated() const {
    return shape_.family != Family::siglip && shape_.family != Family::clip;
  }
  std::int64_t rotary_width() const { return is_rotated() ? shape_.hidden / shape_.heads / 2 : 0; }

  /// With Inductor the op's own formula runs, since nothing compiles the encoder
  /// (get_default_ir_op_priority); else the kernel.
  Tensor rms_norm(const Tensor& x) const {
    if (!runtime.settings.compiles) return like(x);
    const Tensor wide = in_float32(x.size(0), x.size(1));
    {
      const Tensor square = in_float32(x.size(0), x.size(1));
    }
    const Tensor scaled = in_float32(x.size(0), x.size(1));
    const Tensor narrow = like(x);
    return like(x);
  }

  /// fused_add_rms_norm: the kernel works in place, the formula makes both anew.
  std::pair<Tensor, Tensor> add_rms_norm(Tensor x, Tensor residual) const {
    if (!runtime.settings.compiles) return {std::move(x), std::move(residual)};
    const std::int64_t rows = x.size(0), width = x.size(1);
    Tensor wide = in_float32(rows, width);
    {
      const Tensor added = in_float32(rows, width);
      wide = in_float32(rows, width);
    }
    Tensor sum = like(x);
    {
      const Tensor square = in_float32(rows, width);
    }
    const Tensor scaled = in_float32(rows, width);
    const Tensor narrow = like(x);
    return {like(x), std::move(sum)};
  }

  Tensor attend() const { return EncoderOps::attend(patches_, shape_.hidden, shape_.heads); }

  /// Queries and keys are copied together and rotated together.
  Tensor rotated_attention(const Tensor& x) const {
    const Tensor qkv = column(x, 3 * shape_.hidden);
    const Tensor both = make(2 * patches_, shape_.hidden / tp);
    const Tensor rotated = make(2 * patches_, shape_.hidden / tp);
    const Tensor context = attend();
    return row(context, shape_.hidden);
  }

  /// q * cos + rotate_half(q) * sin.
  Tensor turned() const {
    const std::int64_t width = shape_.hidden / tp;
    const Tensor product = make(patches_, width);
    Tensor half = make(patches_, width);
    {
      const Tensor negated = make(patches_, width / 2);
    }
    const Tensor other = make(patches_, width);
    half.reset();
    return make(patches_, width);
  }

  Tensor pixtral_attention(const Tensor& x) const {
    const Tensor qkv = column(x, 3 * shape_.hidden);
    const Tensor q = turned(), k = turned();
    const Tensor context = attend();
    return row(context, shape_.hidden);
  }

  Tensor plain_attention(const Tensor& x) const {
    const Tensor qkv = column(x, 3 * shape_.hidden);
    const Tensor context = attend();
    return row(context, shape_.hidden);
  }

  /// x * sigmoid(1.702 * x) where no kernel is chosen; GELU is one op.
  Tensor activated(const Tensor& x) const {
    const bool is_quick = shape_.family == Family::clip || shape_.family == Family::qwen2_vl;
    if (!is_quick || !runtime.settings.compiles) return like(x);
    Tensor scaled = like(x);
    const Tensor sigmoid = like(x);
    scaled.reset();
    return like(x);
  }

  Tensor plain_mlp(const Tensor& x) const {
    Tensor inner = column(x, shape_.inner);
    inner = activated(inner);
    return row(inner, shape_.hidden);
  }

  /// The product of gate and up lives beside what it becomes.
  Tensor gated_mlp(const Tensor& x) const {
    const Tensor gate_up = column(x, 2 * shape_.inner);
    const Tensor product = column(x, shape_.inner);
    return row(product, shape_.hidden);
  }

  /// The caller holds a layer's input until it returns.
  Tensor layer(const Tensor& input) const {
    switch (shape_.family) {
      case Family::qwen2_5_vl: return fused_layer(input);
      case Family::pixtral: return pixtral_layer(input);
      case Family::siglip:
      case Family::clip: return in_place_layer(input);
      case Family::qwen2_vl:
      case Family::qwen3_vl: break;
    }
    Tensor x = added(input, attended(layer_norm(input)));
    return added(x, plain_mlp(layer_norm(x)));
  }

  Tensor attended(const Tensor& normed) const { return rotated_attention(normed); }
  Tensor added(const Tensor& x, const Tensor&) const { return like(x); }

  Tensor fused_layer(const Tensor& input) const {
    Tensor attended_states = rotated_attention(rms_norm(input));
    const auto [normed, residual] = add_rms_norm(input, attended_states);
    return added(residual, gated_mlp(normed));
  }

  Tensor pixtral_layer(const Tensor& input) const {
    const Tensor x = added(input, pixtral_attention(rms_norm(input)));
    return added(x, gated_mlp(rms_norm(x)));
  }

  Tensor in_place_layer(const Tensor& input) const {
    const Tensor hidden_states = plain_attention(layer_norm(input));  // += residual
    return plain_mlp(layer_norm(hidden_states));
  }

  /// The merger of Qwen's towers: a norm over patches, two products over tokens.
  Tensor merge(const Tensor& x) const {
    const bool is_rms = shape_.family == Family::qwen2_5_vl;
    const Tensor normed = is_rms ? rms_norm(x) : layer_norm(x);
    const std::int64_t tokens = patches_ / shape_.merged, width = shape_.hidden * shape_.merged;
    Tensor inner = make(tokens, width / tp);
    inner = like(inner);
    return all_reduce(runtime, make(tokens, shape_.out));
  }

  std::vector<Tensor> outputs(Tensor hidden_states) const {
    std::vector<Tensor> kept;
    if (is_rotated() && shape_.family != Family::pixtral) {
      for (std::int64_t i = 0; i < shape_.deep_outputs; ++i) kept.push_back(merge(hidden_states));
      hidden_states = merge(hidden_states);
      Tensor joined = make(hidden_states.size(0), shape_.out * (1 + shape_.deep_outputs));
      kept.clear();
      kept.push_back(std::move(joined));
      return kept;
    }
    const Tensor normed = layer_norm(hidden_states);
    const Tensor pooled = make(items_ * tokens_, shape_.hidden);
    kept.push_back(all_reduce(runtime, make(items_ * tokens_, shape_.out)));
    return kept;
  }

  TowerShape shape_;
  std::int64_t items_, patches_, tokens_;
};

}  // namespace

std::vector<Tensor> run_encoders(const Runtime& runtime, const Encoders& encoders) {
  if (!encoders.profiles || encoders.items == 0) return {};
  const Config vision = runtime.config.object("vision_config");
  const std::string tower = type_of(vision);
  if (is_older_qwen_encoder(runtime.config, runtime.settings))
    return run_older_qwen_encoder(runtime, encoders);
  if (is_internvl(vision)) return run_internvl_encoder(runtime, encoders);
  if (is_idefics3(vision)) return run_idefics3_encoder(runtime, encoders);
  if (is_moonvit(vision)) return run_moonvit_encoder(runtime, encoders);
  if (tower == "gemma4_vision") return run_gemma4_encoder(runtime, encoders);
  if (tower == "llama4_vision_model") return run_llama4_encoder(runtime, encoders);
  return EncoderRun(runtime, encoders).run();
}

Bytes bytes_of_largest_item(const Config& config, const Settings& settings,
                            const Encoders& encoders) {
  ghost::Session session(settings.device.traits);
  const ghost::GradMode inference(false);
  Encoders one = encoders;
  one.items = std::min<std::int64_t>(one.items, 1);
  {
    const Runtime runtime(settings, config, nullptr);
    const std::vector<Tensor> outputs = run_encoders(runtime, one);
  }
  session.finished = true;
  Bytes held = 0, most = 0;
  for (const Event& event : session.tape.events) {
    const Bytes bytes = session.tape.requested[event.block];
    if (event.kind == EventKind::alloc) held += bytes;
    if (event.kind == EventKind::free) held -= bytes;
    most = std::max(most, held);
  }
  return most;
}

}  // namespace memtape::vllm
