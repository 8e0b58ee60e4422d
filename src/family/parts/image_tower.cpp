// SPDX-License-Identifier: Apache-2.0
#include "family/parts/image_tower.h"

#include <array>

#include "base/text.h"

namespace memtape::family {

ImageTower::ImageTower(const nn::Scope& scope, const Settings& settings) {
  if (const auto* clip = std::get_if<ClipVisionConfig>(&settings))
    tower_.emplace<ClipVisionTower>(scope, *clip);
  else if (const auto* siglip = std::get_if<SiglipVisionConfig>(&settings))
    tower_.emplace<SiglipVisionTower>(scope, *siglip);
  else
    tower_.emplace<PixtralVisionTower>(scope, std::get<PixtralVisionConfig>(settings));
}

ImageTower::Settings image_tower_settings(const Config& c, const ModelOptions& options,
                                          std::string_view otherwise) {
  constexpr std::array<std::string_view, 3> kTypes{"clip_vision_model", "siglip_vision_model",
                                                   "pixtral"};
  const Config vision = c.object("vision_config");
  const std::string type = vision.text("model_type", std::string(otherwise));
  if (type == kTypes[0]) return ClipVisionConfig(vision, options);
  if (type == kTypes[1]) return SiglipVisionConfig(vision, options);
  if (type != kTypes[2])
    c.fail("vision_config.model_type",
           "unknown vision tower \"" + type + "\", " + suggestion(type, kTypes));
  return PixtralVisionConfig(vision);
}

std::int64_t hidden_size(const ImageTower::Settings& settings) {
  return std::visit([](const auto& tower) { return tower.hidden_size; }, settings);
}

std::int64_t vision_feature_layers(const Config& c, const char* key) {
  const std::string value = c.json(key);
  return value.empty() || value.front() != '[' ? 1
                                               : static_cast<std::int64_t>(c.integers(key).size());
}

}  // namespace memtape::family
