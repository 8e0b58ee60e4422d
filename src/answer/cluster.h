// SPDX-License-Identifier: Apache-2.0
// Clusters: which GPUs there are, in which nodes, over which links: data/clusters.yaml by name, or
// a file of the user's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "answer/outside.h"

namespace memtape::answer {

struct Cluster {
  std::string name, gpu;
  std::optional<std::int64_t> nodes, gpus_per_node, link_domain;
  std::optional<double> network_gb_s;  ///< of one GPU, one direction
  std::optional<Bytes> host_memory;    ///< of a node
  std::optional<double> price;         ///< an hour of one GPU
};

/// `named`: a name of data/clusters.yaml, else a file.
Result<Cluster> find_cluster(const std::string& named, const Outside& outside);

}  // namespace memtape::answer
