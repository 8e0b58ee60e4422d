// SPDX-License-Identifier: Apache-2.0
// What no bound holds of a batch of a model with images, where it is answered as one of text.
#pragma once

#include <string_view>

namespace memtape::family {

/// ms-swift 2 (ms-swift#2228; swift/llm/utils/template.py, _Qwen2VLTemplateMixin._encode): --max_length cuts
/// the text, and the tokens of images take the places of theirs behind that.
inline constexpr std::string_view kImagesNotCut =
    "ms-swift 2 cuts texts and not images, of which a sample has as many as the data say";

}  // namespace memtape::family
