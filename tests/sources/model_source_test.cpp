// SPDX-License-Identifier: Apache-2.0
#include "sources/model_source.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape::sources {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A folder of its own for each test, with a cache of the hub in it; nobody is asked over the
/// network.
class ModelSourceTest : public testing::Test {
 protected:
  ModelSourceTest() {
    std::string name = (fs::temp_directory_path() / "memtape-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    settings_.cache = folder_ / "hub";
    settings_.offline = true;
  }
  ~ModelSourceTest() override { fs::remove_all(folder_); }

  std::string write(const fs::path& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }

  /// A file with one tensor of `count` bytes.
  std::string write_tensor(const fs::path& name, const std::string& tensor, int count) {
    const std::string size = std::to_string(count);
    std::string header = "{\"" + tensor + "\": {\"dtype\": \"U8\", \"shape\": [" + size +
                         "], \"data_offsets\": [0, " + size + "]}}";
    const char length[8] = {static_cast<char>(header.size())};
    return write(
        name, std::string(length, 8) + header + std::string(static_cast<std::size_t>(count), '\0'));
  }

  Result<ModelSource> find(const std::string& model) const {
    return find_model_source(model, settings_);
  }
  std::string complaint(const std::string& model) const {
    const Result<ModelSource> source = find(model);
    return source ? "" : source.error().line();
  }

  fs::path folder_;
  HubSettings settings_;
  const std::string config_ = R"({"model_type": "llama", "hidden_size": 8})";
};

TEST_F(ModelSourceTest, ReadsAConfig) {
  const ModelSource source = find(write("config.json", config_)).value();
  EXPECT_EQ(source.config->dimension("hidden_size"), 8);
  EXPECT_FALSE(source.header.has_value());
  EXPECT_THAT(source.warnings, IsEmpty());
}

TEST_F(ModelSourceTest, ReadsAFolderWithItsCheckpoint) {
  write("m/config.json", config_);
  write_tensor("m/model.safetensors", "a", 5);
  const ModelSource source = find((folder_ / "m").string()).value();
  EXPECT_TRUE(source.config.has_value());
  EXPECT_EQ(source.header.value().total_bytes(), 5);
}

TEST_F(ModelSourceTest, SaysWhatAPipelineOfDiffusersStores) {
  write("p/model_index.json", R"({"_class_name": "FluxPipeline", "transformer": ["diffusers", "X"],
                                  "vae": ["diffusers", "Y"], "scheduler": ["diffusers", "Z"]})");
  write("p/scheduler/scheduler_config.json", "{}");
  write_tensor("p/transformer/diffusion_pytorch_model.safetensors", "a", 5);
  write_tensor("p/vae/diffusion_pytorch_model.safetensors", "b", 7);
  EXPECT_THAT(complaint((folder_ / "p").string()),
              testing::HasSubstr("a pipeline of diffusers, FluxPipeline, which stores 12 bytes "
                                 "(0.00 GiB): transformer 0.00 GiB, vae 0.00 GiB"));
}

TEST_F(ModelSourceTest, JoinsTheShardsOfAnIndex) {
  write("config.json", config_);
  write_tensor("1.safetensors", "a", 5);
  write_tensor("2.safetensors", "b", 7);
  const std::string index =
      write("model.safetensors.index.json",
            R"({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}})");
  EXPECT_EQ(find(index)->header.value().total_bytes(), 12);
  EXPECT_EQ(find(folder_.string())->header.value().total_bytes(), 12);
  EXPECT_TRUE(find(index)->config.has_value());
}

TEST_F(ModelSourceTest, SaysWhichShardIsNotThere) {
  write("config.json", config_);
  const std::string index =
      write("model.safetensors.index.json", R"({"weight_map": {"a": "1.safetensors"}})");
  const ModelSource source = find(index).value();
  EXPECT_FALSE(source.header.has_value());
  EXPECT_THAT(source.warnings,
              ElementsAre(HasSubstr(
                  "1.safetensors is not there: the checkpoint's tensors are not checked")));
}

TEST_F(ModelSourceTest, ReadsACheckpointAlone) {
  const ModelSource source = find(write_tensor("x.safetensors", "a", 5)).value();
  EXPECT_FALSE(source.config.has_value());
  EXPECT_EQ(source.header.value().tensors.size(), 1u);
  EXPECT_THAT(
      source.warnings,
      ElementsAre(HasSubstr("config.json is not there: only the stored tensors are known")));
}

TEST_F(ModelSourceTest, FindsTheCatalogByIdAndLastPart) {
  EXPECT_EQ(find("Llama-3.1-8B")->id, "meta-llama/Llama-3.1-8B");
  EXPECT_EQ(find("META-LLAMA/llama-3.1-8b")->where, "catalog");
}

TEST_F(ModelSourceTest, AnExistingPathWinsOverTheCatalog) {
  write("gpt2", config_);
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const Result<ModelSource> source = find("gpt2");
  fs::current_path(before);
  EXPECT_EQ(source->config->text("model_type"), "llama");
}

TEST_F(ModelSourceTest, FindsTheMainRevisionInTheCacheOfTheHub) {
  write("hub/models--org--name/refs/main", "abc123\n");
  write("hub/models--org--name/snapshots/abc123/config.json", config_);
  const ModelSource source = find("org/name").value();
  EXPECT_EQ(source.id, "org/name");
  EXPECT_THAT(source.where, HasSubstr("Hugging Face cache: "));
  EXPECT_EQ(source.config->dimension("hidden_size"), 8);
}

TEST_F(ModelSourceTest, TheCacheMayNotLeadElsewhere) {
  write("hub/models--org--name/refs/main", "../../..");
  EXPECT_THAT(complaint("org/name"), HasSubstr("not in the Hugging Face cache"));
}

TEST_F(ModelSourceTest, SaysWhatIsWrong) {
  EXPECT_THAT(complaint(write("a/config.json", "{")),
              HasSubstr("config.json: not valid JSON: line 1, column 2"));
  EXPECT_THAT(complaint(write("b/x.gguf", "GGUF")),
              HasSubstr("is a model to be served, it cannot be trained"));
  EXPECT_THAT(complaint(write("c/pytorch_model.bin", "PK")),
              HasSubstr("pickled weights are not read"));
  EXPECT_THAT(complaint(write("d/x.safetensors", "short")),
              HasSubstr("too short for a safetensors file"));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(complaint((folder_ / "empty").string()),
              HasSubstr("holds neither config.json nor *.safetensors"));
  EXPECT_THAT(complaint("./nothing.json"), HasSubstr("no such file or folder"));
  EXPECT_THAT(complaint(""), HasSubstr("MODEL: no such file or folder"));
  EXPECT_THAT(complaint("a/b/c"), HasSubstr("no such file or folder"));
  EXPECT_THAT(complaint("Llama-3.1-8BB"),
              HasSubstr("(did you mean meta-llama/Llama-3.1-8B? A config.json would do, too)"));
}

TEST_F(ModelSourceTest, AFolderNamedLikeAConfigIsAnError) {
  fs::create_directories(folder_ / "config.json" / "config.json");
  EXPECT_THAT(complaint((folder_ / "config.json").string()), HasSubstr("Is a directory"));
}

TEST(HubId, IsOneOrTwoPlainParts) {
  for (const char* id : {"gpt2", "meta-llama/Llama-3.1-8B", "a/b_c"})
    EXPECT_TRUE(is_hub_id(id)) << id;
  for (const char* id : {"", "/a", "a/", "a/b/c", "../a", "a/../b", "a/.b", "a b", "a--b", "a/b?c"})
    EXPECT_FALSE(is_hub_id(id)) << id;
}

TEST(HubSettings, FollowsTheEnvironment) {
  for (const char* name : {"HF_HOME", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "HF_ENDPOINT",
                           "HF_HUB_OFFLINE", "HF_HUB_CACHE"})
    ::unsetenv(name);
  ::setenv("HOME", "/home/x", 1);
  EXPECT_EQ(HubSettings::of_process().cache, "/home/x/.cache/huggingface/hub");
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(HubSettings::of_process().cache, "/cache/huggingface/hub");
  ::setenv("HF_HOME", "/hf", 1);
  EXPECT_EQ(HubSettings::of_process().cache, "/hf/hub");
  ::setenv("HUGGINGFACE_HUB_CACHE", "/old", 1);
  EXPECT_EQ(HubSettings::of_process().cache, "/old");
  ::setenv("HF_HUB_CACHE", "/new", 1);
  ::setenv("HF_ENDPOINT", "http://mirror/", 1);
  ::setenv("HF_HUB_OFFLINE", "yes", 1);
  ::setenv("HF_TOKEN", " t \n", 1);
  const HubSettings settings = HubSettings::of_process();
  EXPECT_EQ(settings.cache, "/new");
  EXPECT_EQ(settings.endpoint, "http://mirror");
  EXPECT_EQ(settings.token, "t");
  EXPECT_TRUE(settings.offline);
}

}  // namespace
}  // namespace memtape::sources
