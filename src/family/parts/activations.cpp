// SPDX-License-Identifier: Apache-2.0
#include "family/parts/activations.h"

#include "base/text.h"

namespace memtape::family {

nn::Activation activation(const Config& config, const char* key, std::string_view otherwise) {
  const std::string name = config.text(key, otherwise);
  if (const std::optional<nn::Activation> known = nn::Activation::from_name(name)) return *known;
  config.fail(key,
              "unknown activation \"" + name + "\", " + suggestion(name, nn::Activation::names()));
  return *nn::Activation::from_name("gelu");
}

}  // namespace memtape::family
