// SPDX-License-Identifier: Apache-2.0
#include "ghost/autocast.h"

#include <algorithm>

namespace memtape::ghost {
namespace {

/// is_eligible: floating point, but not double.
bool eligible(const Tensor& operand) {
  return operand.defined() && operand.is_floating_point() && operand.dtype() != DType::float64;
}

/// cached_cast of autocast_mode.cpp.
Tensor cast_to_low(const Tensor& operand, Autocast& autocast) {
  const bool cacheable = operand.dtype() == DType::float32 && operand.is_leaf() &&
                         operand.requires_grad() && !operand.impl().base;
  if (!cacheable) return operand.to(autocast.dtype);
  const auto known =
      std::find_if(autocast.cache.begin(), autocast.cache.end(),
                   [&](const Autocast::Cached& c) { return c.weight == operand.ptr(); });
  if (known != autocast.cache.end()) return Tensor(known->cast);
  Tensor cast = operand.to(autocast.dtype);
  autocast.cache.push_back({operand.ptr(), cast.ptr()});
  return cast;
}

}  // namespace

Autocasted::Autocasted(const Tensor& operand, CastPolicy policy) : operand_(operand) {
  Autocast& autocast = session().autocast;
  if (!autocast.enabled || !eligible(operand)) return;
  if (policy == CastPolicy::fp32) {
    if (operand.dtype() != DType::float32) cast_ = operand.to(DType::float32);
  } else if (operand.dtype() != autocast.dtype) {
    cast_ = cast_to_low(operand, autocast);
  }
}

DType reduction_dtype(const Tensor& operand) {
  return session().autocast.enabled && eligible(operand) ? DType::float32 : operand.dtype();
}

AutocastContext::AutocastContext(bool enabled, DType dtype)
    : enabled_before_(session().autocast.enabled), dtype_before_(session().autocast.dtype) {
  Autocast& autocast = session().autocast;
  ++autocast.nesting;
  autocast.enabled = enabled;
  autocast.dtype = dtype;
}

AutocastContext::~AutocastContext() {
  Autocast& autocast = session().autocast;
  autocast.enabled = enabled_before_;
  autocast.dtype = dtype_before_;
  if (--autocast.nesting > 0) return;
  // PyTorch's order is that of a hash table of addresses (autocast_mode.cpp:clear_cache); here the
  // first goes first, whatever the standard library's vectors do.
  for (Autocast::Cached& cached : autocast.cache) cached = {};
  autocast.cache.clear();
}

}  // namespace memtape::ghost
