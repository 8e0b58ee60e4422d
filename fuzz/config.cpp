// SPDX-License-Identifier: Apache-2.0
// A config.json of any bytes: it is refused with one line, or every accessor answers within its
// range, and what is written back as JSON is JSON that means the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "model/config.h"

namespace {

using memtape::Config;

void require(bool truth) {
  if (!truth) std::abort();
}

void read_everything(const Config& config, int depth) {
  for (const std::string& key : config.keys()) {
    const std::int64_t dimension = config.dimension(key);
    require(dimension >= 1 && dimension < std::int64_t{1} << 31);
    require(config.layers(key, 1) <= 100'000);
    require(config.count(key, 0) >= 0);
    config.integer(key, 0);
    config.number(key, 0.0);
    config.boolean(key, false);
    config.text(key, "");
    config.texts(key);
    config.integers(key);
    require(config.has(key));
    if (depth < 3) read_everything(config.object(key), depth + 1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = Config::parse(text, "config.json");
  if (!config) {
    require(config.error().line().find('\n') == std::string::npos);
    return 0;
  }
  const auto again = Config::parse(config->json(), "again");
  require(again.has_value() && again->json() == config->json());
  read_everything(*config, 0);
  config->dimension("absent");
  require(!config->check().has_value());
  return 0;
}
