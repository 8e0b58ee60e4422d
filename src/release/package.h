// SPDX-License-Identifier: Apache-2.0
// The packages whose releases decide what a program does to memory, under their names on PyPI.
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
  std::string_view name;  ///< the name on PyPI
  Version newest;         ///< the newest release whose code was compared with the rules here
  Version oldest;         ///< the oldest one; releases before it are answered by its rules
};

struct PackageVersion {
  Package package;
  Version version;
};

/// All packages, in the order of the enumeration.
std::span<const PackageFacts> packages();

inline const PackageFacts& facts_of(Package package) {
  return packages()[static_cast<std::size_t>(package)];
}

/// Finds a package by its name. `_` and `-` are the same, and so are upper and lower case.
std::optional<Package> find_package(std::string_view name);

}  // namespace memtape
