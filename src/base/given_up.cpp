// SPDX-License-Identifier: Apache-2.0
#include "base/given_up.h"

#include <utility>

namespace memtape {
namespace {

constinit thread_local const std::atomic<bool>* flag_in_force = nullptr;

}  // namespace

GivenUp::GivenUp(const std::atomic<bool>& flag) : outer_(std::exchange(flag_in_force, &flag)) {}

GivenUp::~GivenUp() { flag_in_force = outer_; }

bool is_given_up() { return flag_in_force && flag_in_force->load(std::memory_order_relaxed); }

}  // namespace memtape
