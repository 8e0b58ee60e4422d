// SPDX-License-Identifier: Apache-2.0
#include "serving/engine_release.h"

#include <fmt/format.h>

namespace memtape {

Result<Release> engine_release(const ServeOptions& options, Package engine, std::string_view newest,
                               Release below) {
  const std::string text = options.text("engine-version", newest);
  const std::optional<Version> version = Version::parse(text);
  const std::string_view numbers = std::string_view(text).substr(text.starts_with('v') ? 1 : 0);
  if (!version || !numbers.starts_with(version->text()))
    return bad_input(fmt::format("\"{}\" is no version", text), "--engine-version",
                     fmt::format("like {}", newest));
  below.set(engine, *version);
  return below;
}

}  // namespace memtape
