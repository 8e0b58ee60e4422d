// SPDX-License-Identifier: Apache-2.0
// ImageTower: the vision towers that AutoModel.from_config(config.vision_config) can make, by their
// model_type (transformers 5.17).
#pragma once

#include <string_view>
#include <variant>

#include "family/parts/clip_towers.h"
#include "family/parts/pixtral_tower.h"
#include "family/parts/siglip_tower.h"

namespace memtape::family {

class ImageTower {
 public:
  using Settings = std::variant<ClipVisionConfig, SiglipVisionConfig, PixtralVisionConfig>;

  ImageTower(const nn::Scope& scope, const Settings& settings);

 private:
  std::variant<std::monostate, ClipVisionTower, SiglipVisionTower, PixtralVisionTower> tower_;
};

/// The vision_config of `c`; its model_type is `otherwise` if it names none.
ImageTower::Settings image_tower_settings(const Config& c, const ModelOptions& options,
                                          std::string_view otherwise);

std::int64_t hidden_size(const ImageTower::Settings& settings);

/// The layers whose features are joined (vision_feature_layer): one, or a list.
std::int64_t vision_feature_layers(const Config& c, const char* key = "vision_feature_layer");

}  // namespace memtape::family
