// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/models/gemma4_encoder.h"

#include <algorithm>

#include "framework/vllm/models/encoder_ops.h"
#include "framework/vllm/models/vision.h"
#include "release/engine_changes.h"
#include "release/transformers_changes.h"

namespace memtape::vllm {
namespace {

constexpr std::int64_t kPositionTable = 10240;  // Gemma4VisionConfig.position_embedding_size

/// Sizes of the tower, from its vision_config.
struct Gemma4Tower {
  explicit Gemma4Tower(const Config& model) {
    const Config c = model.object("vision_config");
    hidden = c.dimension("hidden_size", 768);
    inner = c.dimension("intermediate_size", 3072);
    heads = c.dimension("num_attention_heads", 12);
    head = c.dimension("head_dim", 64);
    patch_values = 3 * squared(c.dimension("patch_size", 16));
    pooled = squared(c.dimension("pooling_kernel_size", 3));
    positions = c.dimension("position_embedding_size", kPositionTable);
    standardizes = c.boolean("standardize", false);
    out = model.dimension("hidden_size");
  }
  std::int64_t hidden, inner, heads, head, patch_values, pooled, positions, out;
  bool standardizes;
};

class Gemma4EncoderRun {
 public:
  Gemma4EncoderRun(const Runtime& runtime, const Encoders& encoders)
      : ops_(runtime),
        tower_(runtime.config),
        is_video_(encoders.modality == "video"),
        parts_(encoders.items * encoders.item.parts),
        patches_(encoders.item.patches / encoders.item.parts) {}

  std::vector<Tensor> run() {
    const std::int64_t all = parts_ * patches_;
    const Tensor pixel_values = ops_.make(all, tower_.patch_values);
    const Tensor position_ids = kernel_output("encoder", {all, 2}, DType::int64);
    const Tensor padding = kernel_output("encoder", {all}, DType::boolean);
    return is_batched() ? in_batches(all) : one_by_one();
  }

 private:
  bool is_batched() const {
    return ops_.runtime.settings.release.has(changes::kVllmBatchesGemma4Frames);
  }

  /// _encoder_chunk: what F.one_hot takes of each part, within a tenth of the device. Half of what is
  /// free would allow less only where that is under a fifth of it.
  std::int64_t chunk() const {
    const Bytes budget = ops_.runtime.settings.device.total / 10;
    const Bytes cost = patches_ * 4 * tower_.positions * 8;
    return std::clamp<std::int64_t>(budget / cost, 1, parts_);
  }

  std::vector<Tensor> in_batches(std::int64_t all) {
    std::vector<Tensor> last_hidden_states;
    Tensor inputs_embeds;
    for (std::int64_t first = 0, most = chunk(); first < parts_; first += most) {
      const std::int64_t parts = std::min(most, parts_ - first);
      inputs_embeds = embed(parts * patches_);
      last_hidden_states.push_back(encode(inputs_embeds, parts));
    }
    Tensor joined;
    if (is_video_) joined = ops_.make(all, tower_.hidden);  // torch.cat, also of one
    std::vector<Tensor> pooled;
    for (std::int64_t part = 0; part < parts_; ++part) pooled.push_back(pool());
    return {project(parts_ * patches_ / tower_.pooled)};
  }

  /// Each image, or frame of a video, by itself.
  std::vector<Tensor> one_by_one() {
    std::vector<Tensor> outputs;
    const std::int64_t tokens = patches_ / tower_.pooled;
    for (std::int64_t part = 0; part < parts_; ++part) {
      Tensor states;
      {
        const Tensor inputs_embeds = embed(patches_);
        const Tensor hidden = encode(inputs_embeds, 1);
        states = pool();
      }
      outputs.push_back(project(tokens));
    }
    if (!is_video_) return outputs;
    return {ops_.make(parts_ * tokens, tower_.out)};  // torch.cat
  }

  /// Gemma4VisionPatchEmbedder
  Tensor embed(std::int64_t rows) const {
    Tensor pixels = ops_.make(rows, tower_.patch_values);  // 2 * (pixel_values - 0.5)
    pixels = ops_.make(rows, tower_.patch_values);
    const Tensor hidden = ops_.make(rows, tower_.hidden, "encoder_linear");
    const Tensor clamped = kernel_output("encoder", {rows, 2}, DType::int64);
    const Tensor positions = ops_.runtime.settings.release.has(changes::kGemma4LooksUpPositions)
                                 ? looked_up(rows)
                                 : multiplied(rows);
    return ops_.like(hidden);
  }
  Tensor looked_up(std::int64_t rows) const {
    const Tensor x = ops_.make(rows, tower_.hidden), y = ops_.make(rows, tower_.hidden);
    const Tensor sum = ops_.make(rows, tower_.hidden);
    return ops_.make(rows, tower_.hidden);  // without padding
  }
  /// F.one_hot(clamped_positions, num_classes=position_embedding_size) @ position_embedding_table
  Tensor multiplied(std::int64_t rows) const {
    const Tensor one_hot = kernel_output("one_hot", {rows * 2, tower_.positions}, DType::int64);
    const Tensor narrow = ops_.make(rows * 2, tower_.positions);
    const Tensor both = ops_.make(rows * 2, tower_.hidden);
    const Tensor sum = ops_.make(rows, tower_.hidden);
    return ops_.make(rows, tower_.hidden);
  }

  /// Gemma4VisionEncoder: all layers hold the same, so one stands for all.
  Tensor encode(const Tensor& inputs_embeds, std::int64_t parts) const {
    const std::int64_t rows = inputs_embeds.size(0);
    const Tensor mask =
        kernel_output("encoder", {parts, patches_, patches_}, DType::boolean);  // padding
    const Tensor cos = ops_.make(rows, tower_.head), sin = ops_.make(rows, tower_.head);
    return layer(inputs_embeds, parts);
  }

  Tensor layer(const Tensor& input, std::int64_t parts) const {
    Tensor hidden = norm(input);
    hidden = attention(hidden, parts);
    hidden = norm(hidden);
    hidden = ops_.like(hidden);  // residual + hidden_states
    const Tensor residual = hidden;
    hidden = norm(hidden);
    hidden = mlp(hidden);
    hidden = norm(hidden);
    return ops_.like(hidden);
  }

  /// Gemma4RMSNorm, in float32, with a weight or without.
  Tensor norm(const Tensor& x, bool is_weighted = true) const {
    const std::int64_t rows = x.size(0), width = x.size(1);
    Tensor normed;
    {
      const Tensor wide = ops_.in_float32(rows, width);
      {
        const Tensor square = ops_.in_float32(rows, width);
      }
      normed = ops_.in_float32(rows, width);
    }
    if (is_weighted) normed = ops_.in_float32(rows, width);
    return ops_.like(x);
  }

  /// apply_multidimensional_rope: rows turn one half of a head, columns the other.
  Tensor rotated(const Tensor& x) const {
    const auto turned = [&] {
      const std::int64_t rows = x.size(0), width = x.size(1) / 2;
      const Tensor product = ops_.make(rows, width);
      Tensor half = ops_.make(rows, width);
      half = ops_.make(rows, width);
      return ops_.make(rows, width);
    };
    const Tensor by_rows = turned(), by_columns = turned();
    return ops_.like(x);
  }

  Tensor attention(const Tensor& normed, std::int64_t parts) const {
    constexpr std::int64_t kAligned = 16;  // pad_bias of scaled_dot_product_attention
    const std::int64_t rows = normed.size(0), width = tower_.heads * tower_.head;
    const auto projected = [&] { return ops_.make(rows, width, "encoder_linear"); };
    Tensor query = projected();
    query = norm(query);
    query = rotated(query);
    Tensor key = projected();
    key = norm(key);
    key = rotated(key);
    Tensor value = projected();
    value = norm(value, false);
    Tensor context;
    {
      const Tensor bias = ops_.make(parts * patches_, patches_);
      const Tensor padded = ops_.make(parts * patches_, round_up(patches_, kAligned));
      context = ops_.make(rows, width, "encoder_attention");
      const Tensor sums = ops_.in_float32(rows, tower_.heads);
    }
    return ops_.make(rows, tower_.hidden, "encoder_linear");
  }

  Tensor mlp(const Tensor& x) const {
    const auto wide = [&] { return ops_.make(x.size(0), tower_.inner, "encoder_linear"); };
    Tensor gate = wide();
    gate = wide();  // GELU
    const Tensor up = wide();
    const Tensor product = wide();
    return ops_.make(x.size(0), tower_.hidden, "encoder_linear");
  }

  /// Gemma4VisionPooler of one part, and its standardization.
  Tensor pool() const {
    const std::int64_t tokens = patches_ / tower_.pooled;
    const Tensor filled = ops_.make(patches_, tower_.hidden);
    Tensor states;
    {
      const Tensor weights = ops_.in_float32(patches_, tokens);
      const Tensor wide = ops_.in_float32(patches_, tower_.hidden);
      states = ops_.in_float32(tokens, tower_.hidden);
    }
    if (tower_.standardizes) states = ops_.in_float32(tokens, tower_.hidden);
    return states;
  }

  /// Gemma4MultimodalEmbedder
  Tensor project(std::int64_t tokens) const {
    const Tensor joined = ops_.in_float32(tokens, tower_.hidden);
    const Tensor narrow = ops_.make(tokens, tower_.hidden);
    const Tensor normed = ops_.make(tokens, tower_.hidden);
    return ops_.make(tokens, tower_.out, "encoder_linear");
  }

  EncoderOps ops_;
  Gemma4Tower tower_;
  bool is_video_;
  std::int64_t parts_, patches_;
};

}  // namespace

std::vector<Modality> gemma4_items(const Config& vision, const Config& kwargs) {
  // _VIDEO_MAX_FRAMES, _VIDEO_MAX_SOFT_TOKENS, and the tokens around a frame's.
  constexpr std::int64_t kFrames = 32, kOfFrame = 70, kAround = 8;
  const std::int64_t pooled = squared(vision.dimension("pooling_kernel_size", 3));
  std::int64_t tokens = vision.dimension("default_output_length", 280);
  tokens = kwargs.object("images_kwargs").dimension("max_soft_tokens", tokens);
  tokens = kwargs.dimension("max_soft_tokens", tokens);
  return {{"image", {.patches = tokens * pooled, .tokens = tokens}},
          {"video",
           {.patches = kFrames * kOfFrame * pooled,
            .tokens = kFrames * (kOfFrame + kAround),
            .parts = kFrames}}};
}

std::vector<Tensor> run_gemma4_encoder(const Runtime& runtime, const Encoders& encoders) {
  return Gemma4EncoderRun(runtime, encoders).run();
}

}  // namespace memtape::vllm
