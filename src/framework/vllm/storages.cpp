// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/storages.h"

#include <unordered_set>

#include "ghost/session.h"

namespace memtape::vllm {
namespace {

void add(const nn::ModuleNode& node, std::unordered_set<const ghost::Storage*>& seen,
         StorageBytes& bytes) {
  const auto add_one = [&](const nn::ModuleNode::Named& named, bool is_parameter) {
    const ghost::Storage* storage = named.tensor.impl().storage.get();
    if (!storage || !seen.insert(storage).second) return;
    const Bytes size = ghost::session().tape.requested[storage->block];
    bytes.all += size;
    if (is_parameter) bytes.parameters += size;
  };
  for (const auto& parameter : node.parameters) add_one(parameter, true);
  for (const auto& buffer : node.buffers) add_one(buffer, false);
  for (const nn::ModuleNode* child : node.children) add(*child, seen, bytes);
}

}  // namespace

StorageBytes storages_of(const nn::ModuleNode& root) {
  StorageBytes bytes;
  std::unordered_set<const ghost::Storage*> seen;
  add(root, seen, bytes);
  return bytes;
}

}  // namespace memtape::vllm
