// SPDX-License-Identifier: Apache-2.0
#include "release/package.h"

#include <algorithm>

namespace memtape {
namespace {

// Compared with: what stands behind a rule's source where no other release is named.
constexpr std::array<PackageFacts, 15> kPackages{{
    {Package::torch, "torch", {2, 11, 0}, {2, 4, 0}},
    {Package::transformers, "transformers", {5, 17, 0}, {4, 45, 0}},
    {Package::accelerate, "accelerate", {1, 15, 0}, {0, 27, 0}},
    {Package::peft, "peft", {0, 21, 2}, {0, 9, 0}},
    {Package::trl, "trl", {1, 16, 0}, {0, 9, 0}},
    {Package::bitsandbytes, "bitsandbytes", {0, 50, 2}, {0, 43, 0}},
    {Package::liger_kernel, "liger-kernel", {0, 8, 5}, {0, 6, 0}},
    {Package::deepspeed, "deepspeed", {0, 19, 8}, {0, 14, 0}},
    {Package::megatron_core, "megatron-core", {0, 16, 1}, {0, 15, 0}},
    {Package::transformer_engine, "transformer-engine", {2, 10, 0}, {1, 2, 0}},
    {Package::torchtitan, "torchtitan", {0, 2, 0}, {0, 1, 0}},
    {Package::litgpt, "litgpt", {0, 5, 0}, {0, 1, 0}},
    {Package::triton, "triton", {3, 6, 0}, {3, 0, 0}},
    {Package::vllm, "vllm", {0, 33, 0}, {0, 8, 0}},
    {Package::sglang, "sglang", {0, 5, 23}, {0, 4, 6}},
}};

char folded(char c) {
  if (c == '_' || c == '.') return '-';
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, folded, folded);
}

}  // namespace

std::span<const PackageFacts> packages() { return kPackages; }

std::optional<Package> find_package(std::string_view name) {
  for (const PackageFacts& facts : kPackages)
    if (same_name(facts.name, name)) return facts.package;
  return std::nullopt;
}

}  // namespace memtape
