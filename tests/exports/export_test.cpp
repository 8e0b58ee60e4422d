// SPDX-License-Identifier: Apache-2.0
// The files of a plan, and what they must not hold: options of the machine that was asked about.
#include "exports/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exports/parts.h"
#include "framework/dialects.h"

namespace memtape::exports {
namespace {

using testing::HasSubstr;
using testing::Not;

const File& file(const Export& made, std::string_view name) {
  for (const File& one : made.files)
    if (one.name == name) return one;
  static const File none;
  ADD_FAILURE() << "no " << name;
  return none;
}

Server server() {
  return {.model = "Qwen/Qwen3-8B",
          .engine = "vllm",
          .options = {{"engine", "vllm"}, {"gpu", "h100-80gb"}, {"max-model-len", "8192"}},
          .gpus = 2,
          .instances = 2};
}

Facts facts() {
  Facts made;
  made.question = "--gpu h100-80gb";
  return made;
}

TEST(Options, CountByTheirLastValue) {
  const NamedValues options{{"tp", "2"}, {"pp", "1"}, {"tp", "4"}};
  EXPECT_EQ(said(options, "tp"), "4");
  EXPECT_FALSE(said(options, "dp"));
}

TEST(Nodes, AreFilledBeforeAnotherIsTaken) {
  Training plan;
  plan.per_node = 8;
  for (const auto& [gpus, nodes] : {std::pair{1, 1}, {8, 1}, {9, 2}, {16, 2}, {17, 3}}) {
    plan.gpus = gpus;
    EXPECT_EQ(nodes_of(plan), nodes) << gpus;
  }
}

TEST(ServerExport, SaysWhatTheEngineIsTold) {
  const Result<Export> made = export_server(server(), facts());
  ASSERT_TRUE(made) << made.error().line();
  const File& script = file(*made, "run.sh");
  EXPECT_TRUE(script.runs);
  EXPECT_THAT(script.text, HasSubstr("vllm serve \\\n  Qwen/Qwen3-8B \\\n  --max-model-len 8192"));
  EXPECT_THAT(script.text, Not(HasSubstr("--gpu"))) << "the machine is not the engine's option";
  EXPECT_THAT(script.text, Not(HasSubstr("--engine")));
}

TEST(ServerExport, GivesEachInstanceGpusOfItsOwn) {
  const std::string compose = file(*export_server(server(), {}), "compose.yaml").text;
  EXPECT_THAT(compose, HasSubstr("server0:"));
  EXPECT_THAT(compose, HasSubstr("server1:"));
  EXPECT_THAT(compose, HasSubstr("device_ids: [\"0\", \"1\"]"));
  EXPECT_THAT(compose, HasSubstr("device_ids: [\"2\", \"3\"]"));
  EXPECT_THAT(compose, HasSubstr("\"8000:"));
  EXPECT_THAT(compose, HasSubstr("\"8001:"));
}

TEST(ServerExport, ListsEveryFileInTheReadme) {
  const Export made = *export_server(server(), facts());
  const std::string& readme = file(made, "README.md").text;
  for (const File& one : made.files)
    if (one.name != "README.md") {
      EXPECT_THAT(readme, HasSubstr("| " + one.name + " |"));
    }
  EXPECT_THAT(readme, HasSubstr("memtape --gpu h100-80gb -- bash run.sh"));
  for (const std::string& sentence : made.assumed) EXPECT_THAT(readme, HasSubstr(sentence));
}

TEST(ServerExport, RefusesEnginesThatAreNotPlanned) {
  Server plan = server();
  plan.engine = "llamacpp";
  const Result<Export> made = export_server(plan, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().line(),
            "--export: plans of that engine are not exported (vllm or sglang)");
}

TEST(TrainingExport, RefusesFrameworksThatHaveNoProgram) {
  for (const Dialect* dialect : dialects()) {
    if (dialect->exported != ExportedProgram::none) continue;
    Training plan;
    plan.recipe.framework = &dialect->framework;
    const Result<Export> made = export_training(plan, {});
    ASSERT_FALSE(made) << dialect->framework.name;
    EXPECT_THAT(made.error().line(), testing::StartsWith("--export: "));
  }
}

/// Once on each node, and the same words on all of them.
TEST(TrainingExport, StartsOneLauncherOnEachNode) {
  Training plan;
  plan.gpus = 16;
  Export out;
  Script script = begin_script(Facts{});
  start_torchrun(script, plan, out);
  EXPECT_THAT(std::move(script).text(),
              testing::AllOf(HasSubstr("--nnodes 2"), HasSubstr("--nproc-per-node 8"),
                             HasSubstr("--node-rank \"${NODE_RANK:-0}\"")));
  EXPECT_EQ(out.assumed.size(), 1);
}

}  // namespace
}  // namespace memtape::exports
