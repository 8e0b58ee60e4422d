// SPDX-License-Identifier: Apache-2.0
// torchtitan's toml (releases up to 0.2.x, February 2026), by the names that
// src/launch/torchtitan.cpp reads.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "exports/parts.h"
#include "launch/setting_table.h"
#include "launch/words.h"

namespace memtape::exports {
namespace {

/// Sections with their lines.
using Sections = std::map<std::string, std::vector<std::string>>;

/// SECTION.KEY of the newest releases that src/launch reads so; "" where there is none.
std::string_view setting_of(std::string_view group, std::string_view as) {
  for (const launch::SettingRow& row : data::torchtitan_settings().rows)
    if (row.group == group && row.as == as) return row.setting;
  return {};
}

Result<void> add_strategy(const Training& plan, Sections& sections) {
  const auto text = said(plan.options, "strategy");
  if (!text) return {};
  const Result<Config> strategy = Config::parse(*text, "--strategy");
  if (!strategy) return tl::unexpected(strategy.error());
  for (const std::string& key : strategy->keys()) {
    if (key == "compile" || key == "components") {
      const char* const name = key == "compile" ? "enable" : "components";
      sections["compile"].push_back(fmt::format("{} = {}", name, strategy->json(key)));
      continue;
    }
    if (key == "converters") {
      sections["model"].push_back(fmt::format("converters = {}", strategy->json(key)));
      continue;
    }
    const std::string_view home = setting_of("strategy", key);
    if (home.empty())
      return unsupported(fmt::format("no toml says {}", key), "--export",
                         "leave it out of --strategy");
    const std::size_t dot = home.rfind('.');
    sections[std::string(home.substr(0, dot))].push_back(
        fmt::format("{} = {}", home.substr(dot + 1), strategy->json(key)));
  }
  return {};
}

/// What --precision fp8 and mxfp8 are called (framework/torchtitan/converters.h).
void add_converters(const Training& plan, Sections& sections) {
  if (!plan.recipe.low_bits) return;
  const char* const name = plan.recipe.low_bits == LowBits::mxfp8 ? "mx" : "float8";
  sections["model"].push_back(
      fmt::format(R"(converters = ["quantize.linear.{0}", "quantize.grouped_mm.{0}"])", name));
}

void add_checkpointing(const Training& plan, Sections& sections) {
  const std::string mode = said(plan.options, "gradient-checkpointing").value_or("none");
  std::vector<std::string>& lines = sections["activation_checkpoint"];
  const bool says_option = std::ranges::any_of(
      lines, [](const std::string& line) { return line.starts_with("selective_ac_option"); });
  lines.push_back(fmt::format("mode = \"{}\"", mode));
  if (mode == "selective" && !says_option) lines.emplace_back("selective_ac_option = \"op\"");
}

Result<void> add_optimizer(const Training& plan, Sections& sections) {
  const std::string name = said(plan.options, "optimizer").value_or("adamw");
  if (name != "adamw" && name != "adam")
    return unsupported("torchtitan has no such optimizer", "--optimizer " + name, "adamw or adam");
  std::vector<std::string>& lines = sections["optimizer"];
  lines.push_back(fmt::format("name = \"{}\"", name == "adam" ? "Adam" : "AdamW"));
  lines.push_back(fmt::format("implementation = \"{}\"",
                              said(plan.options, "optimizer-impl").value_or("fused")));
  lines.emplace_back("lr = 1e-4");
  return {};
}

Result<void> add_training(const Training& plan, Sections& sections) {
  std::vector<std::string>& lines = sections["training"];
  lines.push_back(fmt::format("local_batch_size = {}", plan.recipe.micro_batch_size));
  if (const auto batch = said(plan.options, "global-batch-size"))
    lines.push_back(fmt::format("global_batch_size = {}", *batch));
  lines.push_back(fmt::format("seq_len = {}", plan.recipe.sequence_length));
  const std::string norm = said(plan.options, "max-grad-norm").value_or("1");
  if (norm == "none")
    return unsupported("torchtitan always clips gradients", "--max-grad-norm none", "a number");
  lines.push_back(fmt::format("max_norm = {}", norm.find('.') == norm.npos ? norm + ".0" : norm));
  lines.emplace_back("steps = 100");
  lines.emplace_back("dataset = \"c4\"");
  return {};
}

Result<void> check_others(const Training& plan) {
  constexpr auto kSaid = std::to_array<std::string_view>(
      {"framework", "gpus", "dp", "micro-batch-size", "global-batch-size", "sequence-length",
       "gradient-checkpointing", "optimizer", "optimizer-impl", "max-grad-norm", "strategy",
       "precision"});
  for (const auto& [name, value] : plan.options) {
    const bool known = is_of_question(name) || std::ranges::find(kSaid, name) != kSaid.end() ||
                       !setting_of("mesh", name).empty();
    if (!known)
      return unsupported("no toml of torchtitan says that", fmt::format("--{} {}", name, value),
                         "leave it out");
  }
  return {};
}

/// "llama3/8B" and its model on the hub.
const launch::Word* flavor_of(std::string_view model) {
  for (const std::string_view ending : {"", "-Instruct", "-Base"}) {
    if (!model.ends_with(ending)) continue;
    const std::string_view base = model.substr(0, model.size() - ending.size());
    for (const launch::Word& known : data::torchtitan_flavors())
      if (known.ours == base || known.ours == model) return &known;
  }
  return nullptr;
}

std::string toml(const Sections& sections) {
  std::string text;
  for (const auto& [name, lines] : sections) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", name);
    for (const std::string& line : lines) text += line + "\n";
  }
  return text;
}

}  // namespace

Result<Export> export_torchtitan(const Training& plan, const Facts& facts) {
  const launch::Word* flavor = flavor_of(plan.model);
  if (!flavor)
    return unsupported(fmt::format("torchtitan has no flavor of {}", plan.model), "--export",
                       "--framework fsdp2 or megatron-core, or a model of llama3, qwen3, llama4 "
                       "or deepseek_v3");
  if (const auto fine = check_others(plan); !fine) return tl::unexpected(fine.error());
  Sections sections;
  sections["job"] = {"dump_folder = \"./outputs\""};
  const std::size_t slash = flavor->theirs.find('/');
  sections["model"] = {fmt::format("name = \"{}\"", flavor->theirs.substr(0, slash)),
                       fmt::format("flavor = \"{}\"", flavor->theirs.substr(slash + 1)),
                       fmt::format("hf_assets_path = \"./assets/hf/{}\"",
                                   flavor->ours.substr(flavor->ours.find('/') + 1))};
  for (const char* option : {"tp", "pp", "cp", "ep", "etp"})
    if (const auto size = said(plan.options, option)) {
      const std::string_view setting = setting_of("mesh", option);
      sections["parallelism"].push_back(
          fmt::format("{} = {}", setting.substr(setting.find('.') + 1), *size));
    }
  if (const auto added = add_strategy(plan, sections); !added) return tl::unexpected(added.error());
  add_converters(plan, sections);
  add_checkpointing(plan, sections);
  if (const auto added = add_optimizer(plan, sections); !added)
    return tl::unexpected(added.error());
  if (const auto added = add_training(plan, sections); !added) return tl::unexpected(added.error());
  Export out;
  Script script = begin_script(facts);
  start_torchrun(script, plan, out);
  script.flag("-m", "torchtitan.train");
  script.flag_filled("--job.config_file", "$HERE/train.toml");
  out.launch = script.command();
  out.files.push_back({"run.sh", std::move(script).text(), true});
  out.files.push_back({"train.toml", toml(sections)});
  out.assumed.emplace_back(
      "torchtitan 0.2.x, the last releases that read toml; run.sh is started in its checkout, "
      "where "
      "the tokenizer lies under assets/hf.");
  return out;
}

}  // namespace memtape::exports
