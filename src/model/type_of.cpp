// SPDX-License-Identifier: Apache-2.0
#include "model/type_of.h"

namespace memtape {

std::string type_of(const Config& config) { return config.text("model_type", ""); }

std::string text_type_of(const Config& config) {
  return config.object("text_config").text("model_type", type_of(config));
}

}  // namespace memtape
