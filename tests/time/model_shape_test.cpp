// SPDX-License-Identifier: Apache-2.0
// Sizes that are read from configurations, held to the parameters of the models themselves.
#include "time/model_shape.h"

#include <cmath>

#include <gtest/gtest.h>

#include "model/catalog.h"

namespace memtape::time {
namespace {

Result<ModelShape> shape_of(std::string_view model) {
  const CatalogEntry* entry = find_model(model);
  return model_shape(*Config::parse(entry->config, std::string(entry->id)));
}

/// Matrices are all that counts here: norms and biases are left out, as are towers for images.
/// Encoders, and encoders with decoders, have no step that is timed.
TEST(ModelShape, HasTheParametersOfNearlyEveryDecoderOfTheCatalog) {
  int decoders = 0, right = 0, counted = 0, refused = 0;
  for (const CatalogEntry& entry : model_catalog()) {
    if (entry.config.find("ForCausalLM") == std::string_view::npos) continue;
    ++decoders;
    const Result<ModelShape> shape = shape_of(entry.id);
    if (!shape) {
      ++refused;
      continue;
    }
    if (entry.parameters == 0) continue;
    ++counted;
    const auto real = static_cast<double>(entry.parameters);
    right += std::abs(shape->parameters() / real - 1) < 0.02 ? 1 : 0;
  }
  EXPECT_GT(counted, 120);
  EXPECT_LT(refused, decoders / 10) << refused << " of " << decoders;
  EXPECT_GT(right, counted * 85 / 100) << right << " of " << counted;
}

TEST(ModelShape, TellsLayersApart) {
  const ModelShape deepseek = *shape_of("deepseek-ai/DeepSeek-V3");
  ASSERT_EQ(deepseek.layers.size(), 2U);
  EXPECT_EQ(deepseek.layers[0].count, 3);
  EXPECT_FALSE(deepseek.layers[0].mlp.is_mixture());
  EXPECT_TRUE(deepseek.layers[1].mlp.is_mixture());
  EXPECT_EQ(deepseek.predicted_tokens, 2);
  EXPECT_NEAR(deepseek.active_parameters() / 1e9, 37, 2);
}

TEST(ModelShape, RefusesWhatIsNotModelled) {
  EXPECT_FALSE(shape_of("google-t5/t5-3b"));
  EXPECT_FALSE(shape_of("openai/whisper-small"));
}

}  // namespace
}  // namespace memtape::time
