// SPDX-License-Identifier: Apache-2.0
#include "phantom/request.h"

#include <array>
#include <charconv>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace memtape::phantom_run {
namespace {

constexpr int kMostGpus = 64;

struct Range {
  std::int64_t low = 0, high = std::numeric_limits<std::int64_t>::max();
};

Result<std::int64_t> number(std::string_view name, std::string_view text, Range range) {
  std::int64_t value = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && at == text.data() + text.size() && value >= range.low &&
      value <= range.high)
    return value;
  const std::string right =
      range.high == Range{}.high
          ? fmt::format("a whole number from {}", range.low)
          : fmt::format("a whole number from {} to {}", range.low, range.high);
  return bad_input(fmt::format("unusable value \"{}\"", text), fmt::format("--{}", name), right);
}

Result<std::string> one_of(std::string_view name, const std::string& text,
                           std::array<std::string_view, 2> names) {
  if (text == names[0] || text == names[1]) return text;
  return bad_input(fmt::format("unusable value \"{}\"", text), fmt::format("--{}", name),
                   suggestion(text, names));
}

/// Sets one option; each is a line of the table in the help.
class Setter {
 public:
  explicit Setter(PhantomRequest& request) : to_(request) {}

  Result<void> set(const std::string& name, const std::string& text) {
    name_ = name;
    text_ = &text;
    if (name == "gpu") return set_gpu(text);
    if (name == "gpus") return integer(to_.gpus, {1, kMostGpus});
    if (name == "rank") return integer(to_.rank, {0, kMostRanks - 1});
    if (name == "world") return integer(to_.world, {1, kMostRanks});
    if (name == "gpu-memory-bytes") return integer(to_.total_bytes, {1});
    if (name == "context-bytes") return integer(to_.context_bytes, {0});
    if (name == "stop-after" || name == "steps") return integer(to_.stop_after, {1, 1000000});
    if (name == "most-reads") return integer(to_.most_reads, {0, 1000000000});
    if (name == "backing") return integer(to_.backing, {0, std::int64_t{1} << 30});
    if (name == "lone-byte") return integer(to_.lone_byte, {0, 255});
    if (name == "history") return integer(to_.history, {1000, 100000000});
    if (name == "values") return word(to_.values, {"steer", "none"});
    if (name == "host-init") return word(to_.host_init, {"skip", "real"});
    if (name == "imbalance") return set_imbalance(text);
    if (name == "driver-placement") return word(to_.placement, {"linux", "first-fit"});
    return word(to_.events, {"complete", "wait"});
  }

 private:
  static constexpr std::int64_t kMostRanks = 1 << 20;

  Result<void> set_gpu(const std::string& text) {
    Result<Gpu> gpu = find_gpu(text);
    if (!gpu) return tl::unexpected(gpu.error());
    if (!gpu->runs_cuda())
      return unsupported("this device does not run CUDA", "--gpu " + text,
                         "memtape gpus lists those that do");
    to_.gpu = *gpu;
    return {};
  }

  Result<void> set_imbalance(const std::string& text) {
    const char* end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data(), end, to_.imbalance);
    if (error != std::errc() || at != end || !(to_.imbalance >= 1 && to_.imbalance <= 1e6))
      return bad_input(fmt::format("unusable value \"{}\"", text), "--imbalance",
                       "a number from 1, every expert alike, to 1000000");
    return {};
  }

  template <class To>
  Result<void> integer(To& to, Range range) {
    const Result<std::int64_t> value = number(name_, *text_, range);
    if (!value) return tl::unexpected(value.error());
    to = static_cast<typename Plain<To>::type>(*value);
    return {};
  }
  template <class T>
  struct Plain {
    using type = T;
  };
  template <class T>
  struct Plain<std::optional<T>> {
    using type = T;
  };

  Result<void> word(std::string& to, std::array<std::string_view, 2> names) {
    const Result<std::string> value = one_of(name_, *text_, names);
    if (!value) return tl::unexpected(value.error());
    to = *value;
    return {};
  }

  PhantomRequest& to_;
  std::string name_;
  const std::string* text_ = nullptr;
};

Result<void> check(const PhantomRequest& r) {
  if (r.command.empty())
    return bad_input("a command is missing", "run", "memtape run [options] -- python train.py");
  if (r.rank && !r.world) return bad_input("needs --world N, the number of ranks", "--rank");
  if (r.world && !r.rank)
    return bad_input("needs --rank R, the one that this program plays", "--world");
  if (r.rank && *r.rank >= *r.world)
    return bad_input(fmt::format("there is no rank {} among {}", *r.rank, *r.world), "--rank",
                     "ranks count from 0");
  if (r.imbalance != 1 && r.values == "none")
    return bad_input("needs --values steer: without values nothing is routed", "--imbalance");
  if (r.total_bytes <= r.context_bytes)
    return bad_input("the context alone does not fit", "--gpu-memory-bytes",
                     fmt::format("more than {} bytes", r.context_bytes));
  return {};
}

}  // namespace

Result<PhantomRequest> phantom_request(const NamedValues& options,
                                       std::vector<std::string> command) {
  PhantomRequest request;
  request.command = std::move(command);
  request.gpu = find_gpu(kUsualGpu).value();
  for (const auto& [name, value] : options)  // the GPU first: other options replace its figures
    if (name == "gpu")
      if (const Result<void> set = Setter(request).set(name, value); !set)
        return tl::unexpected(set.error());
  request.total_bytes = request.gpu.total_bytes;
  request.context_bytes = request.gpu.context_bytes;
  for (const auto& [name, value] : options)
    if (name != "gpu")
      if (const Result<void> set = Setter(request).set(name, value); !set)
        return tl::unexpected(set.error());
  if (const Result<void> good = check(request); !good) return tl::unexpected(good.error());
  return request;
}

}  // namespace memtape::phantom_run
