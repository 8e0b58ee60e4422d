// SPDX-License-Identifier: Apache-2.0
// The release of transformers whose code a model follows where it is known to differ from 5.17's:
//   before 4.49, ForCausalLMLoss copied the float32 logits without the last position; since, labels
//     are padded and shifted (loss/loss_utils.py of both);
//   before 5.0, Mixtral's experts were a ModuleList of three linear layers each, run one after the
//     other (models/mixtral/modeling_mixtral.py of 4.48).
#pragma once

#include <compare>

namespace memtape::family {

struct TransformersRelease {
  int major = 5, minor = 17;
  auto operator<=>(const TransformersRelease&) const = default;
};

/// Puts a release in force while it lives.
class ReleaseInForce {
 public:
  explicit ReleaseInForce(TransformersRelease release);
  ~ReleaseInForce();
  ReleaseInForce(const ReleaseInForce&) = delete;
  ReleaseInForce& operator=(const ReleaseInForce&) = delete;

  /// Whether the one in force is older.
  static bool before(TransformersRelease release);

 private:
  TransformersRelease outer_;
};

}  // namespace memtape::family
