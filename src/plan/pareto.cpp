// SPDX-License-Identifier: Apache-2.0
#include "plan/pareto.h"

#include <algorithm>

namespace memtape::plan {

std::vector<std::size_t> pareto_front(const std::vector<PlanRow>& plans) {
  std::vector<std::size_t> by_time;
  for (std::size_t i = 0; i < plans.size(); ++i)
    if (plans[i].peak_device_bytes) by_time.push_back(i);
  std::ranges::stable_sort(by_time, [&](std::size_t a, std::size_t b) {
    const PlanRow &x = plans[a], &y = plans[b];
    if (x.step_seconds.mid != y.step_seconds.mid) return x.step_seconds.mid < y.step_seconds.mid;
    return *x.peak_device_bytes < *y.peak_device_bytes;
  });
  std::vector<std::size_t> front;
  for (const std::size_t i : by_time)
    if (front.empty() || *plans[i].peak_device_bytes < *plans[front.back()].peak_device_bytes)
      front.push_back(i);
  return front;
}

}  // namespace memtape::plan
