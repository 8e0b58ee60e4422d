// SPDX-License-Identifier: Apache-2.0
#include "model/catalog_source.h"

#include <utility>

#include <fmt/format.h>

#include "model/catalog.h"
#include "model/config_overrides.h"
#include "model/quantized_name.h"

namespace memtape {

Result<std::optional<ModelSource>> catalog_source(const std::string& name) {
  const CatalogEntry* const entry = find_model(name);
  if (!entry) return std::nullopt;
  Result<Config> config = Config::parse(entry->config, std::string(entry->id));
  if (!config) return tl::unexpected(config.error());
  return ModelSource{std::string(find_id(name)), "catalog", *std::move(config), std::nullopt, {}};
}

Result<std::optional<ModelSource>> quantized_source(const std::string& name) {
  const std::optional<QuantizedName> copy = quantized_name(name);
  if (!copy) return std::nullopt;
  const Result<Config> base = Config::parse(copy->base->config, name);
  if (!base) return tl::unexpected(base.error());
  const Result<Config> scheme = Config::parse(copy->config, name);
  if (!scheme) return tl::unexpected(scheme.error());
  Result<Config> config = overridden(*base, *scheme);
  if (!config) return tl::unexpected(config.error());
  return ModelSource{name,
                     "its name and the catalog",
                     *std::move(config),
                     std::nullopt,
                     {fmt::format("{} is taken to be {} of the catalog in {}, as its name says "
                                  "(its config.json would be certain)",
                                  name, copy->base->id, copy->scheme)}};
}

}  // namespace memtape
