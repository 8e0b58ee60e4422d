// SPDX-License-Identifier: Apache-2.0
// Models whose code lies in their own repository on the hub (trust_remote_code) and not in
// transformers 5.17: each is built as the family of transformers that is nearest to it. Their
// parameters are the same in number; their activations are the nearest family's.
#pragma once

#include <string_view>

#include "family/families.h"

namespace memtape::family {

/// The family that stands in for `model_type`; empty for families that stand for themselves.
std::string_view nearest_family(std::string_view model_type);

ModelPointer build_baichuan(const Config& config, const ModelOptions& options);
ModelPointer build_chatglm(const Config& config, const ModelOptions& options);
ModelPointer build_deepseek(const Config& config, const ModelOptions& options);
ModelPointer build_internlm2(const Config& config, const ModelOptions& options);
ModelPointer build_qwen(const Config& config, const ModelOptions& options);

}  // namespace memtape::family
