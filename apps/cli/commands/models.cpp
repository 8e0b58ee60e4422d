// SPDX-License-Identifier: Apache-2.0
// `memtape models [MODEL]`: the models known by name; or what is known of one model, wherever it
// comes from.
#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "answer/catalog_json.h"
#include "answer/table.h"
#include "base/letter_case.h"
#include "base/text.h"
#include "commands.h"
#include "outside_process.h"
#include "report/headline.h"
#include "report/style.h"

namespace memtape::cli {
namespace {

using answer::clipped;
using answer::dtypes_of;
using answer::facts_of;
using answer::is_supported;
using answer::model_json;
using answer::ModelFacts;
using answer::models_json;
using answer::Table;

/// The catalog's models with a word of their names that begins so; '_' and '-' alike.
std::vector<CatalogEntry> models_with(std::string_view part) {
  const auto plain = [](std::string_view text) {
    std::string word = lower_case(std::string(text));
    std::ranges::replace(word, '_', '-');
    return word;
  };
  std::vector<CatalogEntry> found;
  for (const CatalogEntry& entry : model_catalog()) {
    const std::string id = plain(entry.id);
    const std::size_t at = id.find(plain(part));
    const bool begins_word = at == 0 || (at != std::string::npos &&
                                         std::isalnum(static_cast<unsigned char>(id[at - 1])) == 0);
    if (begins_word) found.push_back(entry);
  }
  return found;
}

std::string quiet_models(std::span<const CatalogEntry> models) {
  std::string text;
  for (const CatalogEntry& entry : models)
    text += report::quiet_line(
        entry.id, {std::string(entry.family),
                   entry.parameters > 0 ? with_commas(entry.parameters) + " parameters" : ""});
  return text;
}

std::string models_text(std::span<const CatalogEntry> models, const OutputOptions& output,
                        answer::Widths widths) {
  using enum Table::Align;
  if (output.quiet) return quiet_models(models);
  Table table({left, left, right, left});
  table.add({"MODEL", "FAMILY", "PARAMETERS", "TRAIN"});
  for (const CatalogEntry& entry : models)
    table.add({std::string(entry.id), std::string(entry.family),
               entry.parameters > 0 ? with_commas(entry.parameters) : "-",
               is_supported(entry.family) ? "yes" : "no"});
  std::string text = table.text(widths.tables);
  text += fmt::format("\n{} {}. TRAIN: whether memtape train knows the family.\n", models.size(),
                      models.size() == 1 ? "model" : "models");
  return text;
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

std::string facts_text(const ModelFacts& known, int width) {
  report::Facts facts(width, "parameters");
  facts.add("from", known.source.where);
  if (known.entry != nullptr) facts.add("config by", known.entry->config_source);
  if (!known.family.empty())
    facts.add(
        "family",
        known.family + (is_supported(known.family) ? "" : " (not one that memtape train knows)"));
  if (known.entry != nullptr && known.entry->parameters > 0)
    facts.add("parameters", fmt::format("{} ({})", with_commas(known.entry->parameters),
                                        known.entry->parameters_source));
  if (known.source.header) facts.add("checkpoint", checkpoint_text(*known.source.header));
  std::string text = known.source.id + "\n" + std::move(facts).take();
  if (known.source.config)
    text += "  config\n" + config_text(*known.source.config, static_cast<std::size_t>(width));
  return text;
}

int run_one(const std::string& id, const OutputOptions& output, Terminal& terminal) {
  const Result<ModelSource> source = outside_process().model(id);
  if (!source) {
    const std::vector<CatalogEntry> found = models_with(id);
    const bool is_part = id.find('/') == std::string::npos && !found.empty();
    if (!is_part) return terminal.fail(source.error());
    terminal.print(output.json ? models_json(found)
                               : models_text(found, output, terminal.widths()));
    return ExitCode::fits;
  }
  const ModelFacts facts = facts_of(*source);
  if (source->config)
    if (const Result<void> checked = source->config->check(); !checked)
      return terminal.fail(checked.error());
  if (output.json) {
    terminal.print(model_json(facts));
    return ExitCode::fits;
  }
  if (output.quiet) {
    terminal.print(facts.entry ? quiet_models({facts.entry, 1})
                               : report::quiet_line(facts.source.id, {std::string(facts.family)}));
    return ExitCode::fits;
  }
  terminal.print(facts_text(facts, terminal.width()));
  for (const std::string& warning : source->warnings) terminal.note(warning);
  return ExitCode::fits;
}

int run_models(const Words& words, Terminal& terminal) {
  const OutputOptions output = output_of(words);
  if (!words.operand().empty()) return run_one(words.operand(), output, terminal);
  terminal.print(output.json ? models_json(model_catalog())
                             : models_text(model_catalog(), output, terminal.widths()));
  return ExitCode::fits;
}

constexpr Operand kOneModel{.name = "ID",
                            .help = "only this entry, in full",
                            .is_required = false,
                            .meant = "--model -m --name"};

}  // namespace

const Command kModelsCommand{
    .name = "models",
    .usage = "[ID]",
    .summary = "the models that are known by name",
    .explanation =
        "parameters are counted on the modules that the configuration builds; memtape "
        "train MODEL --explain shows what they take",
    .example = "memtape models meta-llama/Llama-3.1-8B",
    .operands = {&kOneModel, 1},
    .run = run_models,
};

}  // namespace memtape::cli
