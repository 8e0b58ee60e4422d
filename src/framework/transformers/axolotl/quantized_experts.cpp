// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/axolotl/quantized_experts.h"

#include <memory>
#include <unordered_map>
#include <utility>

#include "framework/transformers/linear_4bit.h"
#include "nn/parametrize.h"

namespace memtape::transformers::axolotl {
namespace {

using ghost::Tensor;

/// A weight of experts, and how it is dequantized.
struct QuantizedExperts {
  ghost::Dims sizes;
  QuantState state;
};

/// Bnb4bitParametrization, which is registered once and for all.
class Dequantized final : public nn::Parametrization {
 public:
  explicit Dequantized(const QuantizedExperts& experts) : experts_(experts) {}
  Tensor forward() override {
    const ghost::GradMode no_grad(false);
    return dequantize_4bit(experts_.state, experts_.sizes);
  }
  bool is_registered() const override { return true; }

 private:
  const QuantizedExperts& experts_;
};

class QuantizedExpertsPatch final : public nn::ParametrizingPatch {
 public:
  void add(const Tensor& parameter, QuantizedExperts experts) {
    experts_.emplace(parameter.ptr().get(), std::move(experts));
  }
  std::unique_ptr<nn::Parametrization> activate(const Tensor& parameter) override {
    const auto found = experts_.find(parameter.ptr().get());
    if (found == experts_.end()) return nullptr;
    return std::make_unique<Dequantized>(found->second);
  }
  ghost::Dims value_sizes(const Tensor& parameter) const override {
    const auto found = experts_.find(parameter.ptr().get());
    return found == experts_.end() ? parameter.sizes() : found->second.sizes;
  }
  DType value_dtype(const Tensor& parameter) const override {
    const auto found = experts_.find(parameter.ptr().get());
    return found == experts_.end() ? parameter.dtype() : found->second.state.dtype;
  }
  /// Modules of experts take more than a tensor: this is never called.
  Tensor forward(const Tensor& x) override { return x; }

 private:
  std::unordered_map<const ghost::TensorImpl*, QuantizedExperts> experts_;
};

}  // namespace

bool is_of_experts(std::string_view name, const Tensor& parameter) {
  return parameter.dim() >= 3 && name.find("expert") != std::string_view::npos;
}

std::int64_t quantize_experts(nn::ModuleNode& module, const Tensor& parameter,
                              Tensor& dynamic_map) {
  auto* patch = dynamic_cast<QuantizedExpertsPatch*>(module.patch.get());
  if (!patch) {
    auto made = std::make_unique<QuantizedExpertsPatch>();
    patch = made.get();
    module.patch = std::move(made);
  }
  const ghost::Dims sizes = parameter.sizes();
  const std::int64_t unpacked = parameter.numel();
  auto [packed, state] = quantize_4bit(parameter, {.nested = true}, dynamic_map);
  take_packed_weight(parameter, packed);
  patch->add(parameter, {sizes, std::move(state)});
  ghost::session().tape.empty_cache();
  return unpacked - parameter.numel();
}

}  // namespace memtape::transformers::axolotl
