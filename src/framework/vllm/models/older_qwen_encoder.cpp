// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/older_qwen_encoder.h"

#include <algorithm>
#include <string>
#include <utility>

#include "framework/vllm/models/encoder_ops.h"
#include "framework/vllm/models/vision.h"
#include "model/type_of.h"

namespace memtape::vllm {
namespace {

bool is_qwen2_5(const Config& model) {
  return type_of(model) == "qwen2_5_vl" ||
         type_of(model.object("vision_config")).starts_with("qwen2_5_vl");
}

bool is_qwen2(const Config& model) {
  return type_of(model) == "qwen2_vl" ||
         type_of(model.object("vision_config")).starts_with("qwen2_vl");
}

class OlderQwenRun : EncoderOps {
 public:
  OlderQwenRun(const Runtime& runtime, const Encoders& encoders)
      : EncoderOps(runtime), is_gated_(is_qwen2_5(runtime.config)) {
    const Config c = runtime.config.object("vision_config");
    hidden_ = c.dimension({"embed_dim", "hidden_size"});
    heads_ = c.dimension("num_heads", 16);
    inner_ = is_gated_ ? c.dimension("intermediate_size") : hidden_ * c.integer("mlp_ratio", 4);
    merged_ = squared(c.dimension("spatial_merge_size", 2));
    out_ = c.dimension({"out_hidden_size", "hidden_size"});
    patch_values_ = c.dimension({"in_channels", "in_chans"}, 3) *
                    c.dimension("temporal_patch_size", 2) * squared(c.dimension("patch_size", 14));
    patches_ = encoders.items * encoders.item.patches;
    is_v0_ = runtime.settings.runner == Runner::v0;
    prompts_ = encoders.prompts;
    prompt_tokens_ = encoders.prompt_tokens;
  }

  std::vector<Tensor> run() {
    std::vector<Tensor> kept{pixels()};
    Tensor other_items;  // V0's prompts hold an image and a video, which run one after the other
    if (is_v0_) {
      kept.push_back(make(text_tokens(), out_));
      const std::int64_t others = prompts_ * prompt_tokens_ - patches_ / merged_;
      if (others > 0) other_items = make(others, out_);
    }
    Tensor outputs = encode();
    if (!is_v0_) kept.push_back(std::move(outputs));
    return kept;
  }

 private:
  bool has(const Change& change) const { return runtime.settings.release.has(change); }

  std::int64_t text_tokens() const {
    return std::max(runtime.settings.max_num_batched_tokens, prompts_ * prompt_tokens_);
  }

  Tensor pixels() const {
    const std::int64_t rows = is_v0_ ? prompts_ * prompt_tokens_ * merged_ : patches_;
    return has(changes::kVllmCastsPixels) ? make(rows, patch_values_)
                                          : in_float32(rows, patch_values_);
  }

  Tensor encode() const {
    Tensor narrow;
    if (!has(changes::kVllmCastsPixels)) narrow = make(patches_, patch_values_);
    Tensor hidden_states = make(patches_, hidden_);          // the patches' embedding
    if (is_gated_) hidden_states = make(patches_, hidden_);  // by windows
    const Tensor angles = in_float32(patches_, hidden_ / heads_ / 2);
    hidden_states = layer(hidden_states);
    return merge(hidden_states);
  }

  /// Where Inductor compiles the text model, the formula of CustomOp RMSNorm runs in the encoder.
  Tensor norm(const Tensor& x) const {
    if (!is_gated_) return layer_norm(x);
    if (!runtime.settings.compiles) return like(x);
    Tensor wide = in_float32(x.size(0), x.size(1));
    {
      const Tensor square = in_float32(x.size(0), x.size(1));
    }
    wide = in_float32(x.size(0), x.size(1));
    const Tensor narrow = like(x);
    return like(x);
  }

  /// apply_rotary_pos_emb_vision.
  Tensor rotated() const {
    const std::int64_t width = hidden_ / tp;
    const Tensor wide = in_float32(patches_, width);
    if (has(changes::kVllmQwenEncodersRotateByKernel)) {
      const Tensor turned = in_float32(patches_, width);
      return make(patches_, width);
    }
    const Tensor cos = in_float32(patches_, hidden_ / heads_);
    const Tensor sin = in_float32(patches_, hidden_ / heads_);
    Tensor sum = summed(width);
    const Tensor joined = in_float32(patches_, width);
    sum.reset();
    return make(patches_, width);
  }

  /// x * cos + rotate_half(x) * sin.
  Tensor summed(std::int64_t width) const {
    const Tensor product = in_float32(patches_, width);
    Tensor half;
    {
      const Tensor negated = in_float32(patches_, width / 2);
      half = in_float32(patches_, width);
    }
    const Tensor other = in_float32(patches_, width);
    half.reset();
    return in_float32(patches_, width);
  }

  /// all_gather_interleave and tensor_model_parallel_all_gather: all ranks' parts, and one tensor of
  /// them.
  Tensor gathered(const Tensor& part) const {
    if (tp == 1) return part;
    const Tensor parts = make(patches_, 3 * hidden_);
    return make(patches_, 3 * hidden_);
  }

  /// `normed` is held by the caller.
  Tensor attention(const Tensor& normed) const {
    const Tensor qkv = column(normed, 3 * hidden_);
    Tensor q, k, v;
    {
      const Tensor whole = gathered(qkv);
      q = make(patches_, hidden_ / tp);
      k = make(patches_, hidden_ / tp);
      v = make(patches_, hidden_ / tp);
    }
    q = rotated();
    k = rotated();
    const Tensor context = attend(patches_, hidden_, heads_);
    return row(context, hidden_);
  }

  Tensor mlp(const Tensor& normed) const {
    if (!is_gated_) {
      Tensor inner = column(normed, inner_);
      inner = like(inner);
      return row(inner, hidden_);
    }
    if (has(changes::kVllmQwenEncodersJoinGates)) {
      const Tensor gate_up = column(normed, 2 * inner_);
      const Tensor product = column(normed, inner_);
      return row(product, hidden_);
    }
    Tensor gate = column(normed, inner_);
    gate = like(gate);
    const Tensor up = column(normed, inner_);
    const Tensor product = like(up);
    return row(product, hidden_);
  }

  /// All layers hold the same, so one stands for all. The caller holds a layer's input.
  Tensor layer(const Tensor& input) const {
    Tensor x;
    {
      const Tensor normed = norm(input);
      const Tensor attended = attention(normed);
      x = like(input);
    }
    const Tensor normed = norm(x);
    const Tensor inner = mlp(normed);
    return like(input);
  }

  Tensor merge(const Tensor& x) const {
    const Tensor normed = norm(x);
    const std::int64_t tokens = patches_ / merged_;
    Tensor inner = make(tokens, hidden_ * merged_ / tp);
    inner = like(inner);
    const Tensor merged = all_reduce(runtime, make(tokens, out_));
    return is_gated_ ? like(merged) : merged;  // windows in their order
  }

  bool is_gated_, is_v0_ = false;
  std::int64_t hidden_ = 0, heads_ = 0, inner_ = 0, merged_ = 1, out_ = 0, patch_values_ = 0;
  std::int64_t patches_ = 0, prompts_ = 0, prompt_tokens_ = 0;
};

}  // namespace

bool is_older_qwen_encoder(const Config& model, const Settings& settings) {
  return !settings.sglang_layers && !settings.release.has(changes::kVllmQwenEncodersJoinQueries) &&
         (is_qwen2_5(model) || is_qwen2(model));
}

std::vector<Tensor> run_older_qwen_encoder(const Runtime& runtime, const Encoders& encoders) {
  return OlderQwenRun(runtime, encoders).run();
}

}  // namespace memtape::vllm
