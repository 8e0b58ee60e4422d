// SPDX-License-Identifier: Apache-2.0
#include "answer/gpu_prices.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "base/comma_list.h"

namespace memtape::answer {

Result<GpuPrices> GpuPrices::read(std::string_view text) {
  GpuPrices found;
  for (const std::string& word : split_at_commas(std::string(text))) {
    const std::size_t equals = word.find('=');
    const std::string amount = equals == std::string::npos ? word : word.substr(equals + 1);
    char* end = nullptr;
    const double price = std::strtod(amount.c_str(), &end);
    if (amount.empty() || *end != '\0' || !(price > 0 && price < 1e6))
      return bad_input(fmt::format("unusable price \"{}\"", word), "--price",
                       "what an hour of one GPU costs: 2.5, or h100-80gb=2.5,a100-80gb=1.8");
    if (equals == std::string::npos) {
      found.prices_.push_back({"", price});
      continue;
    }
    const Result<Gpu> gpu = find_gpu(word.substr(0, equals), "--price");
    if (!gpu) return tl::unexpected(gpu.error());
    found.prices_.push_back({std::string(gpu->id), price});
  }
  return found;
}

std::optional<double> GpuPrices::of(const Gpu& gpu) const {
  std::optional<double> any;
  for (const Price& price : prices_) {
    if (price.gpu == gpu.id) return price.per_hour;
    if (price.gpu.empty()) any = price.per_hour;
  }
  return any;
}

}  // namespace memtape::answer
