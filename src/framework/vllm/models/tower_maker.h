// SPDX-License-Identifier: Apache-2.0
// TowerMaker: makes the parameters of an image encoder one after the other, cut over the tensor
// ranks as vLLM's linear layers are.
#pragma once

#include <string>

#include "framework/vllm/runtime.h"

namespace memtape::vllm {

/// A tower of transformer layers over patches of an image.
struct Tower {
  std::int64_t layers = 0, hidden = 0, intermediate = 0;
  std::int64_t patch_values = 0;  ///< of one patch: channels, frames, rows and columns
  std::int64_t positions = 0;     ///< of a table; 0 where positions are rotated in
  bool patch_bias = false;
  bool norm_bias = true;  ///< LayerNorm; RMSNorm has none
  bool gated = false;     ///< the MLP has a gate
  int norms_around = 1;   ///< of width `hidden`, beside those of the layers
};

/// Makes parameters one after the other; nobody asks for them by name.
class TowerMaker {
 public:
  explicit TowerMaker(const Place& place) : place_(place), tp_(place.runtime().tp()) {}

  void matrix(std::int64_t out, std::int64_t in, bool bias = true) {
    make({out, in});
    if (bias) make({out});
  }
  /// Cut by its outputs over the ranks, its bias, too.
  void column(std::int64_t out, std::int64_t in, bool bias = true) { matrix(out / tp_, in, bias); }
  /// Cut by its inputs; the bias is whole.
  void row(std::int64_t out, std::int64_t in, bool bias = true) { matrix(out, in / tp_, bias); }
  void norm(std::int64_t width, bool bias) {
    make({width});
    if (bias) make({width});
  }
  void make(const Dims& sizes) { place_.parameter(std::to_string(count_++), sizes); }

  void tower(const Tower& t) {
    matrix(t.hidden, t.patch_values, t.patch_bias);
    if (t.positions > 0) make({t.positions, t.hidden});
    for (int i = 0; i < t.norms_around; ++i) norm(t.hidden, t.norm_bias);
    for (std::int64_t i = 0; i < t.layers; ++i) {
      norm(t.hidden, t.norm_bias);
      norm(t.hidden, t.norm_bias);
      column(3 * t.hidden, t.hidden);
      row(t.hidden, t.hidden);
      column((t.gated ? 2 : 1) * t.intermediate, t.hidden);
      row(t.hidden, t.intermediate);
    }
  }

 private:
  Place place_;
  std::int64_t tp_, count_ = 0;
};

}  // namespace memtape::vllm
