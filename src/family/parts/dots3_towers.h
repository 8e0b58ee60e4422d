// SPDX-License-Identifier: Apache-2.0
// The towers of Dots 3 Note, of images with experts in its last layers and of sounds, which a step of
// text does not run; mirroring the constructors of transformers 5.24
// models/dots3_note/modeling_dots3_note.py and the settings of configuration_dots3_note.py.
#pragma once

#include <cstdint>
#include <vector>

#include "family/parts/tower_modules.h"

namespace memtape::family {

struct Dots3VisionConfig {
  explicit Dots3VisionConfig(const Config& c);
  std::int64_t hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_channels,
      patch_size, moe_intermediate_size, adapter_in_dim, adapter_out_dim, adapter_merge_size;
  bool attention_bias, mlp_bias;
  std::vector<std::int64_t> experts;  ///< of each layer; 0: it has none

 private:
  /// pyramid_num_routed as published, or mlp_layer_types with per_layer_config.
  void read_experts(const Config& c);
};

struct Dots3AudioConfig {
  explicit Dots3AudioConfig(const Config& c);
  std::int64_t hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, feature_size,
      downsample_hidden_size, adapter_input_size, adapter_out_dim;
  bool attention_bias;
};

struct Dots3TowersConfig {
  Dots3TowersConfig(const Config& whole, std::int64_t text_hidden_size);
  Dots3VisionConfig vision;
  Dots3AudioConfig audio;
};

/// vision_tower and audio_tower of Dots3NoteModel.
class Dots3Towers {
 public:
  using Settings = Dots3TowersConfig;
  Dots3Towers(const nn::Scope& scope, const Dots3TowersConfig& c);

 private:
  void make_vision(const nn::Scope& scope, const Dots3VisionConfig& c);
  void make_block(const nn::Scope& scope, const Dots3VisionConfig& c, std::int64_t experts);
  void make_audio(const nn::Scope& scope, const Dots3AudioConfig& c);
  void make_audio_layer(const nn::Scope& scope, const Dots3AudioConfig& c);

  TowerModules made_;
};

}  // namespace memtape::family
