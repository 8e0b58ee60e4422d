// SPDX-License-Identifier: Apache-2.0
#include "mesh/process_count.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/comma_list.h"
#include "base/typed_number.h"

namespace memtape {
namespace {

bool means_all_gpus(std::string_view text) {
  return text == "gpu" || text == "auto" || text == "cpu" || text.starts_with("$(");
}

Result<std::int64_t> count_of(const std::string& text, std::string_view name) {
  constexpr std::int64_t kMost = 1 << 24;
  const auto value = whole_number(std::string_view(text).substr(text.rfind(':') + 1));
  if (value && *value >= 1 && *value <= kMost) return *value;
  if (text.starts_with('$'))
    return bad_input(fmt::format("what {} is, nobody says", text), std::string(name),
                     "set the variable before the command");
  return bad_input(fmt::format("unusable value \"{}\"", text), std::string(name),
                   "a whole number of processes or nodes");
}

/// The devices of a list; those after a -1 are hidden.
std::int64_t listed_devices(const std::string& list) {
  if (list.empty() || list == "none" || list == "void") return 0;
  const std::vector<std::string> devices = split_at_commas(list);
  const auto hidden = [](const std::string& device) { return device.starts_with("-1"); };
  return std::ranges::find_if(devices, hidden) - devices.begin();
}

}  // namespace

Result<void> ProcessCount::note(const Said& said, std::initializer_list<Name> names) {
  for (const auto& [name, into] : names) {
    const std::optional<std::string> text = said(name);
    if (!text) continue;
    const bool all = means_all_gpus(*text);
    one_for_each_gpu = one_for_each_gpu || all;
    const Result<std::int64_t> count = all ? Result<std::int64_t>(0) : count_of(*text, name);
    if (!count) return tl::unexpected(count.error());
    this->*into = all ? std::nullopt : std::optional(*count);
  }
  return {};
}

Result<void> ProcessCount::read_slurm(const Said& variable) {
  ProcessCount said;
  const auto noted = said.note(variable, {{"SLURM_NTASKS", &ProcessCount::on_all},
                                          {"SLURM_NTASKS_PER_NODE", &ProcessCount::on_node},
                                          {"SLURM_NNODES", &ProcessCount::nodes},
                                          {"SLURM_GPUS_ON_NODE", &ProcessCount::granted}});
  if (!noted) return noted;
  if (!on_all && !on_node) on_all = said.on_all, on_node = said.on_node;
  if (!nodes) nodes = said.nodes;
  if (!granted) granted = said.granted;
  return {};
}

Result<void> ProcessCount::read_torchrun(const Said& variable) {
  ProcessCount said;
  const auto noted = said.note(variable, {{"PET_NNODES", &ProcessCount::nodes},
                                          {"PET_NPROC_PER_NODE", &ProcessCount::on_node}});
  if (!noted) return noted;
  if (!on_node && !one_for_each_gpu) {
    on_node = said.on_node;
    one_for_each_gpu = said.one_for_each_gpu;
  }
  if (!nodes) nodes = said.nodes;
  return {};
}

std::vector<std::pair<std::string, std::string>> ProcessCount::slurm_variables(
    const Said& variable) const {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [name, value] : {std::pair{"SLURM_NNODES", nodes},
                                    {"SLURM_JOB_NUM_NODES", nodes},
                                    {"SLURM_GPUS_ON_NODE", granted},
                                    {"SLURM_GPUS_PER_NODE", granted},
                                    {"SLURM_NTASKS_PER_NODE", on_node},
                                    {"SLURM_NTASKS", total(variable)}})
    if (value) variables.emplace_back(name, fmt::format("{}", *value));
  return variables;
}

std::optional<std::int64_t> ProcessCount::visible(const Said& variable) const {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"})
    if (const auto list = variable(name))
      return *list == "all" || list->find('$') != list->npos ? granted : listed_devices(*list);
  return granted;
}

std::optional<std::int64_t> ProcessCount::total(const Said& variable) const {
  if (on_all) return on_all;
  std::optional<std::int64_t> here = on_node;
  if (!here && one_for_each_gpu) here = visible(variable);
  // A job system that starts the processes itself says so to each of them, by the variables that
  // torch.distributed reads (accelerate/state.py, PartialState).
  const auto world = variable("WORLD_SIZE");
  if (!here && !one_for_each_gpu && world && variable("LOCAL_RANK")) return whole_number(*world);
  if (!here || *here < 1) return std::nullopt;
  return *here * nodes.value_or(1);
}

}  // namespace memtape
