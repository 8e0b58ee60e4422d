// SPDX-License-Identifier: Apache-2.0
// What turns images and sounds into tokens of Apertus 1.5, in float32 whatever the model's dtype: an
// encoder of EMU 3.5's kind and WavTokenizer's encoder. A step of text does not run them. Mirrors the
// constructors of transformers 5.24 models/apertus1p5/modeling_apertus1p5.py and
// models/wavtokenizer/modeling_wavtokenizer.py.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

#include "family/pretrained.h"
#include "ghost/ops/creation.h"

namespace memtape::family {

/// The list of that name, or `otherwise`.
inline std::vector<std::int64_t> integers_or(const Config& c, const char* name,
                                             std::vector<std::int64_t> otherwise) {
  return c.is_null(name) ? otherwise : c.integers(name);
}

struct ApertusVisionConfig {
  explicit ApertusVisionConfig(const Config& c)
      : codebook_size(c.dimension("codebook_size", 131072)),
        embed_dim(c.dimension("embed_dim", 256)),
        latent_channels(c.dimension("latent_channels", 256)),
        in_channels(c.dimension("in_channels", 3)),
        base_channels(c.dimension("base_channels", 256)),
        num_res_blocks(c.count("num_res_blocks", 4)),
        resolution(c.dimension("resolution", 256)),
        channel_multiplier(integers_or(c, "channel_multiplier", {1, 1, 2, 2, 4})),
        attn_resolutions(integers_or(c, "attn_resolutions", {16})) {
    if (channel_multiplier.empty()) c.fail("channel_multiplier", "must name a stage");
  }
  std::int64_t codebook_size, embed_dim, latent_channels, in_channels, base_channels,
      num_res_blocks, resolution;
  std::vector<std::int64_t> channel_multiplier, attn_resolutions;
};

struct WavTokenizerConfig {
  explicit WavTokenizerConfig(const Config& c)
      : audio_channels(c.dimension("audio_channels", 1)),
        num_filters(c.dimension("num_filters", 32)),
        num_residual_layers(c.count("num_residual_layers", 1)),
        compress(c.dimension("compress", 2)),
        kernel_size(c.dimension("kernel_size", 7)),
        last_kernel_size(c.dimension("last_kernel_size", 7)),
        residual_kernel_size(c.dimension("residual_kernel_size", 3)),
        num_lstm_layers(c.count("num_lstm_layers", 2)),
        hidden_size(c.dimension("hidden_size", 512)),
        codebook_size(c.dimension("codebook_size", 4096)),
        codebook_dim(c.dimension("codebook_dim", 512)),
        use_conv_shortcut(c.boolean("use_conv_shortcut", true)),
        norms_weights(c.text("norm_type", "weight_norm") == "weight_norm"),
        upsampling_ratios(integers_or(c, "upsampling_ratios", {6, 5, 5, 4})) {}
  std::int64_t audio_channels, num_filters, num_residual_layers, compress, kernel_size,
      last_kernel_size, residual_kernel_size, num_lstm_layers, hidden_size, codebook_size,
      codebook_dim;
  bool use_conv_shortcut, norms_weights;
  std::vector<std::int64_t> upsampling_ratios;
};

struct ApertusTokenizersConfig {
  explicit ApertusTokenizersConfig(const Config& whole)
      : vision(whole.object("vision_config")), audio(whole.object("audio_config")) {}
  ApertusVisionConfig vision;
  WavTokenizerConfig audio;
};

/// A place for modules whose parameters are in float32.
struct Float32Place {
  nn::Scope scope;
  Float32Place operator/(std::string_view child) const { return {scope / child}; }
  Float32Place operator/(std::int64_t index) const { return {scope / index}; }
  void parameter(std::string_view name, const Dims& sizes) const {
    scope.parameter(name, sizes, DType::float32);
  }
  void buffer(std::string_view name, const Dims& sizes, DType dtype = DType::float32) const {
    scope.buffer(name, ghost::zeros(sizes, dtype));
  }
  void weight_and_bias(const Dims& weight_sizes) const {
    parameter("weight", weight_sizes);
    parameter("bias", {weight_sizes[0]});
  }
  /// nn.GroupNorm.
  void group_norm(std::int64_t channels) const { weight_and_bias({channels}); }
};

/// Apertus1p5VisionTokenizerModel.
class ApertusVisionTokenizer {
 public:
  ApertusVisionTokenizer(const Float32Place& place, const ApertusVisionConfig& c);

 private:
  /// Gives how many channels go out.
  static std::int64_t make_stage(const Float32Place& place, const ApertusVisionConfig& c,
                                 std::size_t stage, std::int64_t channels);
  static void make_resnet(const Float32Place& place, std::int64_t in, std::int64_t out);
  static void make_attention(const Float32Place& place, std::int64_t channels);
};

/// WavTokenizerEncoderModel.
class WavTokenizerEncoder {
 public:
  WavTokenizerEncoder(const Float32Place& place, const WavTokenizerConfig& c);

 private:
  static void make_convolution(const Float32Place& place, const WavTokenizerConfig& c,
                               const Dims& weight_sizes);
  static void make_resnet(const Float32Place& place, const WavTokenizerConfig& c, std::int64_t dim);
};

/// vision_tokenizer and audio_tokenizer of Apertus1p5Model.
class ApertusTokenizers {
 public:
  using Settings = ApertusTokenizersConfig;
  ApertusTokenizers(const nn::Scope& scope, const ApertusTokenizersConfig& c)
      : vision_tokenizer_({scope / "vision_tokenizer"}, c.vision),
        audio_tokenizer_({scope / "audio_tokenizer"}, c.audio) {}

 private:
  ApertusVisionTokenizer vision_tokenizer_;
  WavTokenizerEncoder audio_tokenizer_;
};

}  // namespace memtape::family
