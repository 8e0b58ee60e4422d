// SPDX-License-Identifier: Apache-2.0
#include "nn/activations.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ghost/ops/pointwise.h"
#include "nn/activation_hooks.h"

namespace memtape::nn {
namespace {

Tensor silu(const Tensor& x) { return ghost::silu(x); }
Tensor gelu(const Tensor& x) { return ghost::gelu(x); }
Tensor relu(const Tensor& x) { return ghost::relu(x); }
Tensor tanh(const Tensor& x) { return ghost::tanh(x); }
Tensor sigmoid(const Tensor& x) { return ghost::sigmoid(x); }
Tensor linear(const Tensor& x) { return x; }

/// 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
Tensor gelu_new(const Tensor& x) {
  const double c = 0.7978845608028654;
  Tensor half = x.mul(0.5);
  return std::move(half).mul(ghost::tanh(x.add(x.pow(3).mul(0.044715)).mul(c)).add(1.0));
}

/// 0.5 * x * (1 + tanh(x * 0.7978845608 * (1 + 0.044715 * x * x)))
Tensor gelu_fast(const Tensor& x) {
  Tensor half = x.mul(0.5);
  return std::move(half).mul(
      ghost::tanh(x.mul(0.7978845608).mul(x.mul(0.044715).mul(x).add(1.0))).add(1.0));
}

/// x * sigmoid(1.702 * x)
Tensor quick_gelu(const Tensor& x) { return x.mul(ghost::sigmoid(x.mul(1.702))); }

/// relu(x) squared
Tensor relu2(const Tensor& x) { return ghost::relu(x).pow(2); }

/// It has parameters: a module of its own where a family has it.
Tensor xielu(const Tensor& x) {
  ghost::session().fail({ErrorKind::unsupported, "xielu is modelled in apertus alone", "hidden_act",
                         "another activation"});
  return x;
}

template <Activation::Function function>
Tensor observed(const Tensor& x) {
  const ActivationHooks* const in_force = ghost::given_here<ActivationHooks>();
  if (!in_force) return function(x);
  Tensor input = x;
  in_force->hooks.before_forward(input);
  Tensor output = function(input);
  in_force->hooks.after_forward(output);
  return output;
}

constexpr std::array<std::string_view, 14> kNames{
    "silu",        "swish",      "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh",
    "gelu_python", "quick_gelu", "relu", "relu2",    "tanh",      "sigmoid",
    "linear",      "xielu"};
constexpr std::array<Activation::Function, 14> kFunctions{
    observed<silu>,      observed<silu>,  observed<gelu>, observed<gelu_new>,
    observed<gelu_fast>, observed<gelu>,  observed<gelu>, observed<quick_gelu>,
    observed<relu>,      observed<relu2>, observed<tanh>, observed<sigmoid>,
    observed<linear>,    observed<xielu>};

}  // namespace

std::optional<Activation> Activation::from_name(std::string_view name) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  if (at == kNames.end()) return std::nullopt;
  return Activation(kFunctions[static_cast<std::size_t>(at - kNames.begin())]);
}

std::span<const std::string_view> Activation::names() { return kNames; }

}  // namespace memtape::nn
