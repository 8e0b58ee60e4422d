// SPDX-License-Identifier: Apache-2.0
// Activations under the names of transformers (activations.py, ACT2FN). Most are one fused op; some
// are a chain of ops, as Python spells them out.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "nn/module.h"

namespace memtape::nn {

/// A function of one tensor, looked up by its name once.
class Activation {
 public:
  using Function = Tensor (*)(const Tensor& x);

  /// The activation of that name in ACT2FN.
  static std::optional<Activation> from_name(std::string_view name);
  static std::span<const std::string_view> names();

  Tensor operator()(const In& x) const {
    Tensor out = function_(*x);
    x.release();
    return out;
  }

 private:
  explicit Activation(Function function) : function_(function) {}
  Function function_;
};

}  // namespace memtape::nn
