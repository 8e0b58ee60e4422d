// SPDX-License-Identifier: Apache-2.0
#include "workload/layout_recipe.h"

#include <initializer_list>
#include <numeric>

namespace memtape {
namespace {

/// Their product, kMostGpus + 1 where it is more than that.
std::int64_t product(std::initializer_list<std::int64_t> sizes) {
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) {
    if (size > kMostGpus / all) return kMostGpus + 1;
    all *= size;
  }
  return all;
}

}  // namespace

std::int64_t LayoutRecipe::fewest_gpus(std::int64_t expert_tensor) const {
  const std::int64_t stages = pp.value_or(1);
  const std::int64_t model = product({tp.value_or(1), stages, cp.value_or(1)});
  if (dp || !ep) return product({dp.value_or(1), model});
  const std::int64_t experts = product({expert_tensor, *ep, stages});
  return product({model, experts / std::gcd(model, experts)});
}

}  // namespace memtape
