// SPDX-License-Identifier: Apache-2.0
#include "model/config_overrides.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/json_reader.h"

namespace memtape {
namespace {

bool is_object(const Config& config, const std::string& key) {
  return config.has(key) && config.json(key).starts_with('{');
}

std::string joined(const Config& config, const Config& overrides, int depth) {
  constexpr int kDeepest = 16;
  const std::vector<std::string> given = overrides.keys();
  std::string out;
  const auto add = [&](const std::string& key, const std::string& json) {
    out += (out.empty() ? "{" : ", ") + json_quoted(key) + ": " + json;
  };
  for (const std::string& key : config.keys())
    if (std::ranges::find(given, key) == given.end()) add(key, config.json(key));
  for (const std::string& key : given) {
    const bool both = depth < kDeepest && is_object(config, key) && is_object(overrides, key);
    add(key,
        both ? joined(config.object(key), overrides.object(key), depth + 1) : overrides.json(key));
  }
  return out.empty() ? "{}" : out + "}";
}

}  // namespace

Result<Config> overridden(const Config& config, const Config& overrides) {
  return Config::parse(joined(config, overrides, 0), config.where());
}

}  // namespace memtape
