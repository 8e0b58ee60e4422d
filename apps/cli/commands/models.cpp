// SPDX-License-Identifier: Apache-2.0
// `memtape models [MODEL]`: the models known by name; or what is known of one model, wherever it
// comes from.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "commands.h"
#include "family/pretrained.h"
#include "model/catalog.h"
#include "report/json_writer.h"
#include "sources/model_source.h"
#include "table.h"

namespace memtape::cli {
namespace {

using report::JsonWriter;
using sources::ModelSource;

/// Whether `memtape train` has a ghost of the family.
bool is_supported(std::string_view family) {
  return std::ranges::any_of(family::families(),
                             [&](const auto& f) { return f.model_type == family; });
}

std::string catalog_text(const OutputOptions& output) {
  using enum Table::Align;
  Table table({left, left, right, left});
  if (!output.quiet) table.add({"MODEL", "FAMILY", "PARAMETERS", "TRAIN"});
  for (const CatalogEntry& entry : model_catalog())
    table.add({std::string(entry.id), std::string(entry.family),
               entry.parameters > 0 ? with_commas(entry.parameters) : "-",
               is_supported(entry.family) ? "yes" : "no"});
  std::string text = table.text();
  if (!output.quiet)
    text += fmt::format("\n{} models. TRAIN: whether memtape train knows the family.\n",
                        model_catalog().size());
  return text;
}

void write_entry(JsonWriter& json, const CatalogEntry& entry) {
  json.begin_object();
  json.member("id", entry.id);
  json.member("family", entry.family);
  json.key("parameters");
  entry.parameters > 0 ? json.value(entry.parameters) : json.null();
  json.member("supported", is_supported(entry.family));
  json.end_object();
}

std::string catalog_json() {
  JsonWriter json(JsonWriter::Layout::pretty);
  json.begin_object();
  json.member("schema", "memtape/1");
  json.member("command", "models");
  json.key("models");
  json.begin_array();
  for (const CatalogEntry& entry : model_catalog()) write_entry(json, entry);
  json.end_array();
  json.end_object();
  return std::move(json).take() + "\n";
}

/// One model with everything a report of it needs.
struct Facts {
  const ModelSource& source;
  const CatalogEntry* entry;  ///< null when it does not come from the catalog
  std::string family;         ///< "" where there is no configuration
};

Facts facts_of(const ModelSource& source) {
  const bool from_catalog = source.where == "catalog";
  return {source, from_catalog ? find_model(source.id) : nullptr,
          source.config ? source.config->optional_text("model_type").value_or("") : ""};
}

/// "BF16" -> how many tensors.
std::map<std::string, std::int64_t> dtypes_of(const TensorList& header) {
  std::map<std::string, std::int64_t> counts;
  for (const StoredTensor& tensor : header.tensors) ++counts[tensor.dtype];
  return counts;
}

std::string checkpoint_text(const TensorList& header) {
  std::string dtypes;
  for (const auto& [dtype, count] : dtypes_of(header))
    dtypes += fmt::format(", {} {}", with_commas(count), dtype);
  return fmt::format("{} elements in {} bytes ({}){}", with_commas(header.total_elements()),
                     with_commas(header.total_bytes()), human_bytes(header.total_bytes()), dtypes);
}

std::string config_text(const Config& config, std::size_t width) {
  constexpr std::size_t kLongestKey = 40, kLeastValue = 20;
  using enum Table::Align;
  Table table({left, left, left});
  std::size_t longest = 0;
  for (const std::string& key : config.keys())
    longest = std::max(longest, std::min(key.size(), kLongestKey));
  const std::size_t room = std::max(width, longest + kLeastValue + 6) - longest - 6;
  for (const std::string& key : config.keys())
    table.add({"  ", clipped(key, kLongestKey), clipped(config.json(key), room)});
  return table.text();
}

std::string facts_text(const Facts& facts, std::size_t width) {
  std::string text = fmt::format("{}\n  from        {}\n", facts.source.id, facts.source.where);
  if (facts.entry != nullptr) text += fmt::format("  config by   {}\n", facts.entry->config_source);
  if (!facts.family.empty())
    text += fmt::format("  family      {}{}\n", facts.family,
                        is_supported(facts.family) ? "" : " (not one that memtape train knows)");
  if (facts.entry != nullptr && facts.entry->parameters > 0)
    text += fmt::format("  parameters  {} ({})\n", with_commas(facts.entry->parameters),
                        facts.entry->parameters_source);
  if (facts.source.header)
    text += fmt::format("  checkpoint  {}\n", checkpoint_text(*facts.source.header));
  if (facts.source.config) text += "  config\n" + config_text(*facts.source.config, width);
  return text;
}

void write_checkpoint(JsonWriter& json, const TensorList& header) {
  json.begin_object();
  json.member("tensors", static_cast<std::int64_t>(header.tensors.size()));
  json.member("elements", header.total_elements());
  json.member("bytes", header.total_bytes());
  json.key("dtypes");
  json.begin_object();
  for (const auto& [dtype, count] : dtypes_of(header)) json.member(dtype, count);
  json.end_object();
  json.end_object();
}

void write_model(JsonWriter& json, const Facts& facts) {
  json.begin_object();
  json.member("id", facts.source.id);
  json.member("from", facts.source.where);
  json.key("family");
  facts.family.empty() ? json.null() : json.value(facts.family);
  json.member("supported", is_supported(facts.family));
  if (facts.entry != nullptr) {
    json.key("parameters");
    facts.entry->parameters > 0 ? json.value(facts.entry->parameters) : json.null();
    json.member("parameters_source", facts.entry->parameters_source);
    json.member("config_source", facts.entry->config_source);
  }
  json.key("checkpoint");
  facts.source.header ? write_checkpoint(json, *facts.source.header) : json.null();
  json.key("config");
  facts.source.config ? json.raw(facts.source.config->json()) : json.null();
  json.end_object();
}

std::string facts_json(const Facts& facts) {
  JsonWriter json(JsonWriter::Layout::pretty);
  json.begin_object();
  json.member("schema", "memtape/1");
  json.member("command", "models");
  json.key("model");
  write_model(json, facts);
  json.key("warnings");
  json.begin_array();
  for (const std::string& warning : facts.source.warnings) json.value(warning);
  json.end_array();
  json.end_object();
  return std::move(json).take() + "\n";
}

int run_one(const ModelsOptions& options, Terminal& terminal) {
  const Result<ModelSource> source =
      sources::find_model_source(options.id, sources::HubSettings::of_process());
  if (!source) return terminal.fail(source.error());
  const Facts facts = facts_of(*source);
  if (source->config)
    if (const Result<void> checked = source->config->check(); !checked)
      return terminal.fail(checked.error());
  if (options.output.json) {
    terminal.print(facts_json(facts));
    return ExitCode::fits;
  }
  terminal.print(facts_text(facts, static_cast<std::size_t>(terminal.width())));
  for (const std::string& warning : source->warnings) terminal.note(warning);
  return ExitCode::fits;
}

}  // namespace

int run_models(const ModelsOptions& options, Terminal& terminal) {
  if (!options.id.empty()) return run_one(options, terminal);
  terminal.print(options.output.json ? catalog_json() : catalog_text(options.output));
  return ExitCode::fits;
}

}  // namespace memtape::cli
