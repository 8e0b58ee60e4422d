// SPDX-License-Identifier: Apache-2.0
// with_text_model: what AutoModel.from_config(config.text_config) makes of the decoders that models
// of images and text name there most (transformers 5.17).
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/text.h"
#include "family/parts/llama_layer.h"
#include "family/parts/qwen3_attention.h"

namespace memtape::family {

/// `build`.operator()<Parts>(settings) for the text_config of `c`, whose model_type is `otherwise`
/// where it names none.
template <class Build>
ModelPointer with_text_model(const Config& c, const ModelOptions& options,
                             std::string_view otherwise, const Build& build) {
  constexpr std::array<std::string_view, 4> kTypes{"llama", "mistral", "qwen2", "qwen3"};
  const Config text = c.object("text_config");
  const std::string type = text.text("model_type", otherwise);
  if (std::ranges::find(kTypes, type) == kTypes.end())
    c.fail("text_config.model_type",
           "unknown language model \"" + type + "\", " + suggestion(type, kTypes));
  if (type == kTypes[3]) return build.template operator()<Qwen3Parts>(qwen3_config(text, options));
  return build.template operator()<LlamaParts>(type == kTypes[1]   ? mistral_config(text, options)
                                               : type == kTypes[2] ? qwen2_config(text, options)
                                                                   : llama_config(text, options));
}

}  // namespace memtape::family
