// SPDX-License-Identifier: Apache-2.0
// The cache of keys and values that model(**batch) makes while it trains, which nothing reads: its
// outputs hold it until the program lets go of them.
#pragma once

namespace memtape {
class Config;
struct TrainRecipe;
}  // namespace memtape

namespace memtape::transformers {

/// Whether the model's forward makes a cache while it trains: decoders do, Mamba's do not.
bool caches_in_training(const Config& config);

/// Whether a loop that leaves config.use_cache alone makes a DynamicCache.
bool makes_cache(const Config& config, const TrainRecipe& recipe);

/// The same of Trainer, which leaves config.use_cache alone in some releases. It needs the session.
bool trainer_makes_cache(const Config& config, const TrainRecipe& recipe);

}  // namespace memtape::transformers
