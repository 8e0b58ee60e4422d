// SPDX-License-Identifier: Apache-2.0
// torch.nn.utils.parametrize, as far as it lasts for one forward: a parameter of a module is read
// through a function. The value is computed when it is first read, and kept until the outermost of
// the nested parametrizations ends (parametrize.cached).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ghost/given.h"
#include "nn/module.h"

namespace memtape::nn {

/// Computes the value of a parametrized parameter.
class Parametrization {
 public:
  virtual ~Parametrization() = default;
  virtual Tensor forward() = 0;
  /// Whether it was registered for good, and not for this forward: torch checks it only then.
  virtual bool is_registered() const { return false; }
};

/// The patch of a module whose parameters a library parametrizes while the module runs. Only
/// modules that read their parameters by value_of() inside a Parametrized scope can have one.
class ParametrizingPatch : public ForwardPatch {
 public:
  /// Null if that parameter is read as it is.
  virtual std::unique_ptr<Parametrization> activate(const Tensor& parameter) = 0;
  /// What the parameter is read as, where it lies there in another form.
  virtual ghost::Dims value_sizes(const Tensor& parameter) const { return parameter.sizes(); }
  virtual DType value_dtype(const Tensor& parameter) const { return parameter.dtype(); }
};

/// register_parametrization for as long as this lives, if the module has such a patch. It computes
/// the value once to check its dtype and shape, as torch does.
class Parametrized {
 public:
  static constexpr ghost::Slot kSlot = ghost::Slot::parametrized;
  Parametrized(const ModuleNode& node, const Tensor& parameter);
  /// Whether the parameter is read through a function.
  bool is_active() const { return parametrization_ != nullptr; }

 private:
  friend Tensor value_of(const Tensor& parameter);
  struct Cached {
    const ghost::TensorImpl* parameter;
    Tensor value;
  };

  const Tensor& parameter_;
  std::unique_ptr<Parametrization> parametrization_;
  std::vector<Cached> cache_;  ///< of the outermost: the values that were made within it
  std::optional<ghost::Given<Parametrized>> given_;
};

/// module.NAME of a parameter that may be parametrized.
Tensor value_of(const Tensor& parameter);

}  // namespace memtape::nn
