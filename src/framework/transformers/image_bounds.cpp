// SPDX-License-Identifier: Apache-2.0
#include "framework/transformers/image_bounds.h"

namespace memtape::transformers {

/// The hidden states of all layers (output_hidden_states), and in one layer queries, keys, values,
/// their product, both norms and the MLP's two inner states; twice that for what kernels and the
/// allocator take beside. Mllama's images are as many as four tiles.
Bytes most_for_one_image(const Config& config, Bytes bytes_of_number) {
  const Config c = config.object("vision_config");
  if (c.keys().empty()) return 0;
  constexpr std::int64_t kStatesOfLayer = 8, kInnerStates = 3, kBeside = 2;
  const std::int64_t hidden = c.dimension({"hidden_size", "embed_dim"}, 1152);
  const std::int64_t inner = c.dimension("intermediate_size", 4 * hidden);
  const std::int64_t layers =
      c.layers({"num_hidden_layers", "depth"}, 27) + c.count("num_global_layers", 0);
  const std::int64_t side = c.dimension("image_size", 896) / c.dimension("patch_size", 14);
  const std::int64_t patches = (side * side + 1) * c.dimension("max_num_tiles", 1);
  return kBeside * bytes_of_number * patches *
         ((layers + kStatesOfLayer) * hidden + kInnerStates * inner);
}

}  // namespace memtape::transformers
