// SPDX-License-Identifier: Apache-2.0
// What Qwen's vision-language models share: a tower named `visual`, and text settings that older
// configurations have at the top level.
#pragma once

#include "family/parts/image_text_to_text.h"
#include "family/parts/multimodal_rope.h"
#include "family/parts/vision_towers.h"

namespace memtape::family {

class QwenVisual {
 public:
  using Settings = QwenVisionConfig;
  QwenVisual(const nn::Scope& scope, const QwenVisionConfig& c) : visual_(scope / "visual", c) {}

 private:
  QwenVisionTower visual_;
};

/// config.text_config, or the configuration itself if it is flat.
inline Config qwen_text_config(const Config& c) {
  return c.is_null("text_config") ? c : c.object("text_config");
}

}  // namespace memtape::family
