// SPDX-License-Identifier: Apache-2.0
#include "model/catalog.h"

#include <cctype>
#include <string>

#include <gtest/gtest.h>

#include "model/config.h"

namespace memtape {
namespace {

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

TEST(Catalog, HoldsOneConfigPerModelSortedById) {
  const auto rows = model_catalog();
  EXPECT_EQ(rows.size(), 469u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(rows[i].id);
    EXPECT_LT(i == 0 ? "" : lowered(rows[i - 1].id), lowered(rows[i].id));
    const Result<Config> config = Config::parse(rows[i].config, std::string(rows[i].id));
    ASSERT_TRUE(config.has_value()) << config.error().line();
    EXPECT_EQ(config->text("model_type"), rows[i].family);
    EXPECT_FALSE(rows[i].config_source.empty());
  }
}

TEST(Catalog, FindsEveryModelByIdWhateverItsCase) {
  for (const CatalogEntry& entry : model_catalog()) {
    EXPECT_EQ(find_model(entry.id), &entry);
    EXPECT_EQ(find_model(lowered(entry.id)), &entry);
  }
}

TEST(Catalog, FindsByLastPart) {
  ASSERT_NE(find_model("Llama-3.1-8B"), nullptr);
  EXPECT_EQ(find_model("llama-3.1-8b")->id, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(find_model("gpt2")->parameters, 124439808);
  EXPECT_EQ(find_model(""), nullptr);
  EXPECT_EQ(find_model("meta-llama"), nullptr);
  EXPECT_EQ(find_model("meta-llama/"), nullptr);
  EXPECT_EQ(find_model("zzz/zzz"), nullptr);
}

TEST(Catalog, FindsModelsThatAreTheSame) {
  ASSERT_NE(find_model("unsloth/Llama-3.2-1B-Instruct"), nullptr);
  EXPECT_EQ(find_model("unsloth/Llama-3.2-1B-Instruct")->id, "meta-llama/Llama-3.2-1B");
  EXPECT_EQ(find_model("meta-llama-3.1-8b")->id, "meta-llama/Llama-3.1-8B");
}

TEST(Catalog, NamesModelsThatAreTheSameByTheirOwnIds) {
  EXPECT_EQ(find_id("unsloth/llama-3.2-1b-instruct"), "unsloth/Llama-3.2-1B-Instruct");
  EXPECT_EQ(find_id("meta-llama-3.1-8b"), "meta-llama/Meta-Llama-3.1-8B");  // the row's owner's
  EXPECT_EQ(find_id("Llama-3.1-8B"), "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(find_id("zzz/zzz"), "");
}

TEST(Catalog, SuggestsTheNearest) {
  EXPECT_EQ(model_suggestion("Llama-3.1-8BB"),
            "did you mean meta-llama/Llama-3.1-8B? A config.json would do, too");
  EXPECT_EQ(model_suggestion("meta-lama/Llama-3.1-8B"), "did you mean meta-llama/Llama-3.1-8B?");
  EXPECT_EQ(model_suggestion(std::string(100, '?')), "a config.json would do; see memtape models");
}

}  // namespace
}  // namespace memtape
