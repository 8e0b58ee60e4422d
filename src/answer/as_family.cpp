// SPDX-License-Identifier: Apache-2.0
#include "answer/as_family.h"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "family/registry.h"
#include "model/catalog.h"
#include "model/config_overrides.h"
#include "model/type_of.h"

namespace memtape::answer {
namespace {

const family::FamilyFacts* family_named(std::string_view name) {
  const auto all = family::families();
  const auto found = std::ranges::find(all, name, &family::FamilyFacts::model_type);
  return found == all.end() ? nullptr : *found;
}

bool is_decoder(const family::FamilyFacts& facts) {
  return facts.task == family::Task::causal_lm && facts.nearest.empty();
}

std::vector<std::string_view> decoders() {
  std::vector<std::string_view> names;
  for (const family::FamilyFacts* facts : family::families())
    if (is_decoder(*facts)) names.push_back(facts->model_type);
  return names;
}

bool is_unknown(const Config& config) {
  return family::facts_of(config) == nullptr && family::text_facts_of(config) == nullptr;
}

/// The class of that family, as a model of the catalog names it: engines look for that.
std::string class_of(std::string_view family) {
  for (const CatalogEntry& entry : model_catalog()) {
    if (entry.family != family) continue;
    const Result<Config> config = Config::parse(entry.config, std::string(entry.id));
    if (!config) continue;
    const std::vector<std::string> classes = config->texts("architectures");
    if (!classes.empty()) return classes.front();
  }
  return {};
}

/// The family whose configuration has keys like these.
std::string_view nearest_family(const Config& config) {
  const std::string type = type_of(config);
  if (const std::string_view near = nearest(type, decoders()); !near.empty()) return near;
  if (config.has("kv_lora_rank")) return "deepseek_v3";
  if (config.has({"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"}))
    return "qwen3_moe";
  return config.has({"n_embd", "n_layer"}) && !config.has("hidden_size") ? "gpt2" : "llama";
}

/// "did you mean llama? " where a family has nearly that name.
std::string misspelt(std::string_view type) {
  std::vector<std::string_view> names;
  for (const family::FamilyFacts* facts : family::families()) names.push_back(facts->model_type);
  const std::string_view near = nearest(type, names);
  return near.empty() ? "" : fmt::format("did you mean {}? ", near);
}

std::string stored(const TensorList& header) {
  return fmt::format("{} parameters, {} bytes ({})", with_commas(header.total_elements()),
                     with_commas(header.total_bytes()), gib(header.total_bytes()));
}

}  // namespace

Result<ModelSource> as_asked(ModelSource source, const NamedValues& values) {
  const std::string* name = last_value(values, kAsFamily);
  if (!name) return source;
  const std::string where = fmt::format("--{}", kAsFamily);
  const family::FamilyFacts* facts = family_named(*name);
  if (!facts || !is_decoder(*facts))
    return bad_input(fmt::format("\"{}\" is no decoder that is known", *name), where,
                     suggestion(*name, decoders()));
  if (!source.config)
    return bad_input("a checkpoint without a config.json has no sizes", where,
                     "put its config.json beside it");
  const std::string type = type_of(*source.config);
  if (!is_unknown(*source.config))
    return bad_input(fmt::format("{} is a family that is known", type), where, "leave it out");
  const std::string members =
      fmt::format(R"({{"model_type": "{}", "architectures": ["{}"]}})", *name, class_of(*name));
  const Result<Config> overrides = Config::parse(members, where);
  if (!overrides) return tl::unexpected(overrides.error());
  Result<Config> config = overridden(*source.config, *overrides);
  if (!config) return tl::unexpected(config.error());
  source.config = *std::move(config);
  source.warnings.push_back(fmt::format(
      "an estimate: the code of \"{}\" is not known, a {} of its sizes stands for it{}", type,
      *name,
      source.header ? fmt::format("; its checkpoint stores {}", stored(*source.header)) : ""));
  return source;
}

std::string estimated_part(const NamedValues& values) {
  const std::string* name = last_value(values, kAsFamily);
  return name
             ? fmt::format("--{} {}: what the model's own code does is not known", kAsFamily, *name)
             : "";
}

void widen_estimate(ServeAnswer& answer, const ModelSource& source, const NamedValues& values) {
  if (estimated_part(values).empty() || answer.ranks.empty()) return;
  const auto full = std::ranges::max_element(answer.ranks, {}, &ServeRank::peak_device_bytes);
  Bytes less = full->activation_peak_bytes, more = full->activation_peak_bytes;
  if (source.header && answer.model.weight_bytes > 0) {
    // The weights of a rank are to all as the estimate's are.
    const double share =
        static_cast<double>(full->weights_bytes) / static_cast<double>(answer.model.weight_bytes);
    const auto off = static_cast<Bytes>(
        share * static_cast<double>(source.header->total_bytes() - answer.model.weight_bytes));
    (off < 0 ? less : more) += std::abs(off);
    answer.model.weight_bytes = source.header->total_bytes();
  }
  if (!answer.bounds) answer.bounds = Bounds{full->peak_device_bytes, full->peak_device_bytes, {}};
  answer.bounds->low_bytes -= less;
  answer.bounds->high_bytes += more;
  answer.bounds->causes.push_back(estimated_part(values) +
                                  ": from none of what a batch takes to twice that");
  if (answer.verdict == VerdictWord::fits)
    answer.verdict = verdict_word(true, *answer.bounds, answer.device->total_bytes);
}

Error named_ways(Error error, const ModelSource& source) {
  const bool of_checkpoint = source.header && error.kind == ErrorKind::unsupported;
  if (!source.config || !is_unknown(*source.config) || error.kind != ErrorKind::unsupported ||
      error.where.find(source.config->where()) == std::string::npos) {
    if (of_checkpoint)
      error.hint += fmt::format("{}the weights alone are {}", error.hint.empty() ? "" : "; ",
                                stored(*source.header));
    return error;
  }
  return {
      ErrorKind::unsupported,
      fmt::format(
          "unknown model family \"{}\"{}", type_of(*source.config),
          of_checkpoint ? fmt::format(", whose checkpoint stores {}", stored(*source.header)) : ""),
      source.config->where() + ": model_type",
      fmt::format("{}{}--{} {} estimates it, with wide bounds; certain are its own code without a "
                  "GPU, --real auto or memtape run -- COMMAND, and a transcription, "
                  "docs/adding-a-family.md",
                  error.hint.starts_with("--engine") ? error.hint + "; " : "",
                  misspelt(type_of(*source.config)), kAsFamily, nearest_family(*source.config))};
}

}  // namespace memtape::answer
