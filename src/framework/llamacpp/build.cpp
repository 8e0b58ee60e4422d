// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/build.h"

#include <charconv>

#include <fmt/format.h>

namespace memtape::llamacpp {
namespace {

constexpr std::string_view kOctoberCommit = "0c1e5709";

}  // namespace

Result<Build> Build::named(std::string_view text) {
  const std::string_view digits =
      text.starts_with('b') || text.starts_with('v') ? text.substr(1) : text;
  Build build;
  if (digits == "0.5.0") return build;
  if (digits == kOctoberCommit) {
    build.number_ = kCurrent + 1;
    return build;
  }
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), build.number_);
  const bool whole = end == digits.data() + digits.size() || *end == ' ' || *end == '-';
  if (error != std::errc() || !whole)
    return bad_input(fmt::format("\"{}\" is no build", text), "--engine-version", "like b6209");
  build.numbered_ = true;
  if (build.number_ < kOldest)
    return bad_input(fmt::format("build {} is older than what is modelled", build.number_),
                     "--engine-version", fmt::format("b{} or later", kOldest));
  return build;
}

}  // namespace memtape::llamacpp
