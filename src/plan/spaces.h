// SPDX-License-Identifier: Apache-2.0
// The spaces that there are; each is one file.
#pragma once

#include <memory>

#include "plan/space.h"

namespace memtape::plan {

std::unique_ptr<Space> megatron_space(const Job& job);
/// The plain loop and its data parallel wrappers: DDP, FSDP and DeepSpeed.
std::unique_ptr<Space> data_parallel_space(const Job& job);

std::unique_ptr<Space> trainer_space(const Job& job);
std::unique_ptr<Space> torchtitan_space(const Job& job);

}  // namespace memtape::plan
