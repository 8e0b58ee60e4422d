// SPDX-License-Identifier: Apache-2.0
// The header check: do the parameters that a family builds have the names, shapes and dtypes that
// the checkpoint stores?
//
// It reports differences in a few lines, each with a count and the first names, for the `warnings`
// of a prediction. A tensor that is tied to another one (lm_head.weight to the embedding) may be
// absent from either side. A checkpoint that was saved from the base model lacks the prefix of the
// head model ("wte.weight" instead of "transformer.wte.weight"): transformers adds it when it loads
// the checkpoint (base_model_prefix), and so does the check.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "model/tensor_list.h"

namespace memtape {

struct ExpectedParameter {
  std::string_view name;
  std::span<const std::int64_t> shape;
  std::optional<DType> dtype = std::nullopt;  ///< nothing, if loading casts the parameters anyway
};

struct HeaderCheck {
  std::span<const ExpectedParameter> parameters = {};
  /// Names that may be absent from the header or not be expected.
  std::span<const std::string_view> tied = {};
  /// Endings of tensors that are stored and are no parameters: "...masked_bias", "...inv_freq"
  std::span<const std::string_view> buffers = {};
  std::string_view base_model_prefix = {};  ///< "transformer", "model" or ""
};

/// One line for each kind of difference. There are none if the header agrees.
std::vector<std::string> check_header(const HeaderCheck& check, const TensorList& header);

}  // namespace memtape
