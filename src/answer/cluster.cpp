// SPDX-License-Identifier: Apache-2.0
#include "answer/cluster.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "answer/cluster_data.h"
#include "base/text.h"
#include "formats/settings.h"
#include "mesh/gpu_catalog.h"

namespace memtape::answer {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 20;
constexpr auto kNames = std::to_array<std::string_view>(
    {"gpu", "nodes", "gpus_per_node", "link_domain", "network_gb_s", "host_memory_gib", "price"});

std::optional<std::int64_t> count(Settings& settings, std::string_view name) {
  const auto n = settings.whole(name);
  if (n && (*n < 1 || *n > 1 << 20))
    settings.fail(*settings.find(name), fmt::format("unusable value \"{}\"", *n),
                  "a whole number of 1 or more");
  return n;
}

std::optional<double> amount(Settings& settings, std::string_view name) {
  const auto x = settings.number(name);
  if (x && !(*x > 0 && *x < 1e7))
    settings.fail(*settings.find(name), fmt::format("unusable value \"{}\"", *x),
                  "a number above 0");
  return x;
}

Result<Cluster> cluster_of(const YamlNode& mapping, std::string_view file) {
  Settings settings;
  settings.set_all(mapping, file);
  for (const GivenSetting& setting : settings.all())
    if (std::ranges::find(kNames, setting.name) == kNames.end())
      return bad_input(fmt::format("a cluster has no {}", setting.name), setting.where,
                       suggestion(setting.name, kNames));
  Cluster cluster;
  const auto gpu = settings.text("gpu");
  if (!gpu) return bad_input("names no GPU", std::string(file), "gpu: h100-80gb");
  if (const auto known = find_gpu(*gpu, settings.find("gpu")->where); !known)
    return tl::unexpected(known.error());
  cluster.gpu = *gpu;
  cluster.nodes = count(settings, "nodes");
  cluster.gpus_per_node = count(settings, "gpus_per_node");
  cluster.link_domain = count(settings, "link_domain");
  cluster.network_gb_s = amount(settings, "network_gb_s");
  cluster.price = amount(settings, "price");
  if (const auto gib = amount(settings, "host_memory_gib"))
    cluster.host_memory = static_cast<Bytes>(std::llround(*gib * static_cast<double>(1_GiB)));
  if (settings.failure()) return tl::unexpected(*settings.failure());
  return cluster;
}

}  // namespace

Result<Cluster> find_cluster(const std::string& named, const Outside& outside) {
  const auto known = read_yaml_mapping(data::kClusters, "data/clusters.yaml");
  if (!known) return tl::unexpected(known.error());
  Result<Cluster> cluster = bad_input("", "");
  if (const YamlNode* machine = known->find(named)) {
    cluster = cluster_of(*machine, "data/clusters.yaml");
  } else {
    const auto text = outside.text(named, kLargest);
    if (!text) {
      std::vector<std::string_view> names;
      for (const YamlNode& one : known->children) names.push_back(one.key);
      return bad_input(fmt::format("\"{}\" is no file and no machine that is known", named),
                       "--cluster", suggestion(named, names));
    }
    const auto mapping = read_yaml_mapping(*text, named);
    if (!mapping) return tl::unexpected(mapping.error());
    cluster = cluster_of(*mapping, named);
  }
  if (cluster) cluster->name = named;
  return cluster;
}

}  // namespace memtape::answer
