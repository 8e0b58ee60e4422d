// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/offload.h"

#include <algorithm>

#include "framework/vllm/ops.h"

namespace memtape::vllm {
namespace {

using Named = nn::ModuleNode::Named;

bool is_on_host(const Named& weight) { return !weight.tensor.impl().storage; }

void move_to_host(Named& weight) {
  const ghost::HostGuard on_host;
  weight.tensor = ghost::empty(weight.tensor.sizes(), weight.tensor.dtype());
}

void offload(Runtime& runtime, nn::ModuleNode& node) {
  for (Named& weight : node.parameters) {
    if (runtime.offloaded >= runtime.settings.cpu_offload) return;
    if (is_on_host(weight)) continue;
    runtime.offloaded += weight.tensor.nbytes();
    move_to_host(weight);
  }
  for (nn::ModuleNode* child : node.children) offload(runtime, *child);
}

}  // namespace

void offload_layers(const Place& body, std::string_view name) {
  Runtime& runtime = body.runtime();
  const Bytes before = runtime.offloaded;
  if (before >= runtime.settings.cpu_offload) return;
  for (nn::ModuleNode* child : body.scope().node().children)
    if (child->name == name) offload(runtime, *child);
  runtime.most_offloaded = std::max(runtime.most_offloaded, runtime.offloaded - before);
}

ProcessedWeights::ProcessedWeights(Runtime& runtime, nn::ModuleNode& node) : node_(node) {
  const Settings& s = runtime.settings;
  if (runtime.offloaded == 0) return;
  if (!s.sglang_layers && !s.release.has(changes::kVllmOffloadsProcessed)) return;
  for (Named& weight : node.parameters) {
    if (!is_on_host(weight)) continue;
    offloaded_.push_back(weight.name);
    if (s.sglang_layers)
      weight.tensor = kernel_output("to", weight.tensor.sizes(), weight.tensor.dtype());
  }
}

ProcessedWeights::~ProcessedWeights() {
  for (Named& weight : node_.parameters)
    if (!is_on_host(weight) && std::ranges::find(offloaded_, weight.name) != offloaded_.end())
      move_to_host(weight);
}

}  // namespace memtape::vllm
