// SPDX-License-Identifier: Apache-2.0
#include "family/transformers_release.h"

#include <utility>

namespace memtape::family {
namespace {

thread_local TransformersRelease in_force;

}  // namespace

ReleaseInForce::ReleaseInForce(TransformersRelease release)
    : outer_(std::exchange(in_force, release)) {}
ReleaseInForce::~ReleaseInForce() { in_force = outer_; }
bool ReleaseInForce::before(TransformersRelease release) { return in_force < release; }

}  // namespace memtape::family
