// SPDX-License-Identifier: Apache-2.0
#include "family/parts/apertus_tokenizers.h"

#include <ranges>
#include <string>

namespace memtape::family {

ApertusVisionTokenizer::ApertusVisionTokenizer(const Float32Place& place,
                                               const ApertusVisionConfig& c) {
  const Float32Place encoder = place / "encoder";
  (encoder / "conv_in").weight_and_bias({c.base_channels, c.in_channels, 3, 3});
  const Float32Place stages = encoder / "stages";
  std::int64_t channels = c.base_channels;
  for (std::size_t i = 0; i < c.channel_multiplier.size(); ++i)
    channels = make_stage(stages / static_cast<std::int64_t>(i), c, i, channels);
  const Float32Place mid = encoder / "mid";
  make_resnet(mid / "block_1", channels, channels);
  make_attention(mid / "attn_1", channels);
  make_resnet(mid / "block_2", channels, channels);
  (encoder / "norm_out").group_norm(channels);
  (encoder / "conv_out").weight_and_bias({c.latent_channels, channels, 3, 3});
  (place / "quantize" / "embedding").parameter("weight", {c.codebook_size, c.embed_dim});
  (place / "quant_conv").weight_and_bias({c.embed_dim, c.latent_channels, 1, 1});
}

std::int64_t ApertusVisionTokenizer::make_stage(const Float32Place& place,
                                                const ApertusVisionConfig& c, std::size_t stage,
                                                std::int64_t channels) {
  const std::int64_t out = c.base_channels * c.channel_multiplier[stage];
  const bool attends =
      std::ranges::find(c.attn_resolutions, c.resolution >> stage) != c.attn_resolutions.end();
  const Float32Place layers = place / "layers";
  for (std::int64_t i = 0; i < c.num_res_blocks; ++i) {
    const Float32Place layer = layers / i;
    make_resnet(layer / "resnet", channels, out);
    if (attends) make_attention(layer / "attention", out);
    channels = out;
  }
  if (stage + 1 < c.channel_multiplier.size())
    (place / "downsample" / "conv").weight_and_bias({channels, channels, 3, 3});
  return channels;
}

void ApertusVisionTokenizer::make_resnet(const Float32Place& place, std::int64_t in,
                                         std::int64_t out) {
  (place / "norm1").group_norm(in);
  (place / "conv1").weight_and_bias({out, in, 3, 3});
  (place / "norm2").group_norm(out);
  (place / "conv2").weight_and_bias({out, out, 3, 3});
  if (in != out) (place / "nin_shortcut").weight_and_bias({out, in, 1, 1});
}

void ApertusVisionTokenizer::make_attention(const Float32Place& place, std::int64_t channels) {
  (place / "norm").group_norm(channels);
  for (const char* name : {"q", "k", "v", "proj_out"})
    (place / name).weight_and_bias({channels, channels, 1, 1});
}

WavTokenizerEncoder::WavTokenizerEncoder(const Float32Place& place, const WavTokenizerConfig& c) {
  const Float32Place layers = place / "encoder" / "layers";
  std::int64_t at = 0, channels = c.num_filters;
  make_convolution(layers / at++, c, {channels, c.audio_channels, c.kernel_size});
  for (const std::int64_t ratio : std::views::reverse(c.upsampling_ratios)) {
    for (std::int64_t i = 0; i < c.num_residual_layers; ++i)
      make_resnet(layers / at++, c, channels);
    ++at;  // an ELU
    make_convolution(layers / at++, c, {2 * channels, channels, 2 * ratio});
    channels *= 2;
  }
  const Float32Place lstm = layers / at++ / "lstm";
  for (std::int64_t i = 0; i < c.num_lstm_layers; ++i) {
    const std::string layer = "_l" + std::to_string(i);
    lstm.parameter("weight_ih" + layer, {4 * channels, channels});
    lstm.parameter("weight_hh" + layer, {4 * channels, channels});
    lstm.parameter("bias_ih" + layer, {4 * channels});
    lstm.parameter("bias_hh" + layer, {4 * channels});
  }
  ++at;  // an ELU
  make_convolution(layers / at, c, {c.hidden_size, channels, c.last_kernel_size});
  const Float32Place codebook = place / "quantizer" / "codebook";
  codebook.buffer("inited", {1});
  codebook.buffer("cluster_size", {c.codebook_size});
  codebook.buffer("embed", {c.codebook_size, c.codebook_dim});
  codebook.buffer("embed_avg", {c.codebook_size, c.codebook_dim});
}

/// WavTokenizerConv1d: a weight as a length for each channel and a direction, or a norm behind it.
void WavTokenizerEncoder::make_convolution(const Float32Place& place, const WavTokenizerConfig& c,
                                           const Dims& weight_sizes) {
  const Float32Place conv = place / "conv";
  if (c.norms_weights) {
    conv.parameter("bias", {weight_sizes[0]});
    const Float32Place weight = conv / "parametrizations" / "weight";
    weight.parameter("original0", {weight_sizes[0], 1, 1});
    weight.parameter("original1", weight_sizes);
  } else {
    conv.weight_and_bias(weight_sizes);
    (place / "norm").group_norm(weight_sizes[0]);
  }
  for (const char* name : {"stride", "kernel_size", "padding_total"})
    place.buffer(name, {}, DType::int64);
}

void WavTokenizerEncoder::make_resnet(const Float32Place& place, const WavTokenizerConfig& c,
                                      std::int64_t dim) {
  const std::int64_t hidden = dim / c.compress;
  const Float32Place block = place / "block";
  make_convolution(block / 1, c, {hidden, dim, c.residual_kernel_size});
  make_convolution(block / 3, c, {dim, hidden, 1});
  if (c.use_conv_shortcut) make_convolution(place / "shortcut", c, {dim, dim, 1});
}

}  // namespace memtape::family
