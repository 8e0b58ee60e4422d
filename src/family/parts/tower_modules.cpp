// SPDX-License-Identifier: Apache-2.0
#include "family/parts/tower_modules.h"

namespace memtape::family {

void TowerModules::linear(const nn::Scope& scope, std::int64_t from, std::int64_t to,
                          bool has_bias) {
  linears_.emplace_back(scope, from, to, has_bias);
}

void TowerModules::embedding(const nn::Scope& scope, std::int64_t count, std::int64_t size) {
  embeddings_.emplace_back(scope, count, size);
}

void TowerModules::convolution(const nn::Scope& scope, const Dims& weight_sizes, bool has_bias) {
  convolutions_.emplace_back(scope, weight_sizes, has_bias);
}

void TowerModules::rms_norm(const nn::Scope& scope, std::int64_t size) {
  rms_norms_.emplace_back(scope, size);
}

void TowerModules::layer_norm(const nn::Scope& scope, std::int64_t size) {
  layer_norms_.emplace_back(scope, size);
}

void TowerModules::rotary(const nn::Scope& scope, std::int64_t dim) {
  rotaries_.emplace_back(scope, RopeParameters{.dim = dim}).init_weights();
}

}  // namespace memtape::family
