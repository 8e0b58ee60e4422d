// SPDX-License-Identifier: Apache-2.0
// The packages whose releases decide what a program does to memory, by their names on PyPI.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "release/version.h"

namespace memtape {

enum class Package : std::uint8_t {
  torch,
  transformers,
  accelerate,
  peft,
  trl,
  bitsandbytes,
  liger_kernel,
  deepspeed,
  megatron_core,
  transformer_engine,
  torchtitan,
  litgpt,
  triton,
  vllm,
  sglang,
};

struct PackageFacts {
  Package package;
  std::string_view name;  ///< on PyPI
  Version newest;         ///< the newest release whose code was compared with the rules here
  Version oldest;         ///< the oldest one; before it the rules of that one are answered
};

/// All of them, in the order of the enumeration.
std::span<const PackageFacts> packages();

inline const PackageFacts& facts_of(Package package) {
  return packages()[static_cast<std::size_t>(package)];
}

/// By its name, `_` and `-` and the case of letters alike.
std::optional<Package> find_package(std::string_view name);

}  // namespace memtape
