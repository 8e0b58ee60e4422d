// SPDX-License-Identifier: Apache-2.0
// Clusters: which GPUs there are, in which nodes, and over which links. A cluster is a name of
// data/clusters.yaml, or a file of the user.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "answer/outside.h"

namespace memtape::answer {

struct Cluster {
  std::string name, gpu;
  std::optional<std::int64_t> nodes, gpus_per_node, link_domain;
  std::optional<double> network_gb_s;  ///< for one GPU, in one direction
  std::optional<Bytes> host_memory;    ///< that of a node
  std::optional<double> price;         ///< for one GPU and one hour
};

/// `named` is a name of data/clusters.yaml, or else a file.
Result<Cluster> find_cluster(const std::string& named, const Outside& outside);

}  // namespace memtape::answer
