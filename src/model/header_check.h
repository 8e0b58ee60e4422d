// SPDX-License-Identifier: Apache-2.0
// The header check: do the parameters that a family builds have the names, shapes and dtypes that
// the checkpoint stores?
//
// What differs is told in a few lines, each with a count and the first names, for the `warnings` of
// a prediction. A tensor that is tied to another (lm_head.weight to the embedding) may be absent
// from either side. A checkpoint that was saved from the base model lacks the prefix of the head
// model ("wte.weight" for "transformer.wte.weight"): transformers adds it on loading
// (base_model_prefix), and so does the check.
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
  std::optional<DType> dtype =
      std::nullopt;  ///< nothing where the parameters are cast on loading anyway
};

struct HeaderCheck {
  std::span<const ExpectedParameter> parameters = {};
  std::span<const std::string_view> tied =
      {};  ///< names that may be absent from the header, or not be expected
  std::span<const std::string_view> buffers =
      {};  ///< stored, but not parameters: "...masked_bias", "...inv_freq"; by their ending
  std::string_view base_model_prefix = {};  ///< "transformer", "model" or ""
};

/// One line per kind of difference; none when the header agrees.
std::vector<std::string> check_header(const HeaderCheck& check, const TensorList& header);

}  // namespace memtape
