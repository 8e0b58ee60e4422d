// SPDX-License-Identifier: Apache-2.0
// The module tree does what torch.nn.Module does: names, order of allocation, ties, and which
// tensors a call keeps alive.
#include "nn/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ghost/ops/pointwise.h"
#include "nn/activations.h"
#include "nn/layers.h"

namespace memtape::nn {
namespace {

using testing::ElementsAre;

Bytes live_bytes(const ghost::Session& session) {
  Bytes live = 0;
  for (const Event& event : session.tape.events) {
    if (event.kind == EventKind::alloc) live += session.tape.requested[event.block];
    if (event.kind == EventKind::free) live -= session.tape.requested[event.block];
  }
  return live;
}

std::vector<std::string> names_of(const std::vector<ModuleNode::Named>& named) {
  std::vector<std::string> names;
  for (const ModuleNode::Named& one : named) names.push_back(one.name);
  return names;
}

/// A model of a table, two layers and a head.
struct Model {
  explicit Model(ModuleTree& tree)
      : scope(tree, tree.root()),
        embed(scope / "embed", 100, 8),
        layers(scope / "layers", 2, 8, 8, true),
        head(scope / "head", 8, 100, true) {}
  Scope scope;
  Embedding embed;
  ModuleList<Linear> layers;
  Linear head;
};

struct Numbered {
  Numbered(const Scope&, std::int64_t width, ListIndex index) : width(width), index(index) {}
  std::int64_t width, index;
};
struct Sized {
  Sized(const Scope&, std::int64_t width, std::int64_t depth = 7, bool flag = false)
      : width(width), depth(depth), flag(flag) {}
  std::int64_t width, depth;
  bool flag;
};

TEST(ModuleList, TellsItsNumbersOnlyToThoseWhoAskForThem) {
  ghost::Session session{ghost::DeviceTraits{}};
  ModuleTree tree(DType::float32);
  const Scope scope(tree, tree.root());
  ModuleList<Numbered> numbered(scope / "numbered", 3, std::int64_t{5});
  EXPECT_EQ(numbered[2].width, 5);
  EXPECT_EQ(numbered[2].index, 2);
  ModuleList<Sized> sized(scope / "sized", 3, std::int64_t{5});
  EXPECT_EQ(sized[2].depth, 7) << "a number is no size";
  ModuleList<Sized> flagged(scope / "flagged", 3, std::int64_t{5}, std::int64_t{6});
  EXPECT_FALSE(flagged[2].flag) << "a number is no flag";
}

TEST(ModuleTree, NamesParametersAsTorchDoes) {
  ghost::Session session{ghost::DeviceTraits{}};
  ModuleTree tree(DType::float32);
  Model model(tree);
  EXPECT_THAT(names_of(named_parameters(tree.root())),
              ElementsAre("embed.weight", "layers.0.weight", "layers.0.bias", "layers.1.weight",
                          "layers.1.bias", "head.weight", "head.bias"));
  EXPECT_THAT(session.tape.requested, ElementsAre(3200, 256, 32, 256, 32, 3200, 400))
      << "blocks are made in the order of the names, the weight before the bias";
}

TEST(ModuleTree, HasASharedTensorOnceUnderItsFirstName) {
  ghost::Session session{ghost::DeviceTraits{}};
  ModuleTree tree(DType::float32);
  Model model(tree);
  const Bytes before = live_bytes(session);
  tie(model.head, model.embed.weight);
  EXPECT_EQ(before - live_bytes(session), 3200) << "the head's own weight is freed";
  EXPECT_THAT(names_of(named_parameters(tree.root())),
              testing::Not(testing::Contains("head.weight")));
  EXPECT_EQ(parameters(tree.root()).size(), named_parameters(tree.root()).size());
}

/// silu(silu(x)), which can drop x once it has read it.
struct TwoSilus : Module<TwoSilus> {
  using Module::Module;
  Tensor forward(const Tensor& x) { return ghost::silu(ghost::silu(x)); }
};

TEST(Module, KeepsItsArgumentUntilItReturns) {
  ghost::Session session{ghost::DeviceTraits{}};
  session.grad_enabled = false;
  ModuleTree tree(DType::float32);
  TwoSilus module(Scope(tree, tree.root()) / "silus");
  Tensor x = ghost::empty({64}, DType::float32);
  const Tensor out = module(std::move(x));
  std::vector<EventKind> kinds;
  for (const Event& event : session.tape.events) kinds.push_back(event.kind);
  using enum EventKind;
  EXPECT_THAT(kinds, ElementsAre(alloc, alloc, alloc, free, free))
      << "nn.Module.__call__ holds x while both silus run";
  EXPECT_EQ(live_bytes(session), 256);
}

struct NotingHooks : ForwardHooks {
  explicit NotingHooks(std::string& notes) : notes(notes) {}
  void before_forward(Tensor&) override { notes += '<'; }
  void after_forward(Tensor&) override { notes += '>'; }
  std::string& notes;
};

TEST(Module, RunsHooksAroundEachForward) {
  ghost::Session session{ghost::DeviceTraits{}};
  ModuleTree tree(DType::float32);
  TwoSilus module(Scope(tree, tree.root()) / "silus");
  std::string notes;
  NotingHooks first(notes), second(notes);
  module.node().hooks = {&first, &second};
  const Tensor x = ghost::empty({64}, DType::float32);
  const Tensor out = module(x);
  EXPECT_EQ(notes, "<<>>");
}

TEST(Layers, MakeNothingWithoutNeed) {
  ghost::Session session{ghost::DeviceTraits{}};
  ModuleTree tree(DType::float32);
  const Scope root(tree, tree.root());
  const Tensor x = ghost::empty({4, 8}, DType::float32);
  const Bytes before = live_bytes(session);
  Dropout never(root / "never", 0.0), sometimes(root / "sometimes", 0.1);
  LayerNorm plain(root / "plain", 8, true, false);
  EXPECT_EQ(live_bytes(session), before) << "a norm without elementwise_affine has no parameters";
  EXPECT_EQ(never(x).ptr().get(), x.ptr().get());
  session.training = false;
  EXPECT_EQ(sometimes(x).ptr().get(), x.ptr().get()) << "nothing is dropped in eval()";
  session.training = true;
  EXPECT_NE(sometimes(x).ptr().get(), x.ptr().get());
}

TEST(Activations, AreFoundByEachNameThatIsListed) {
  for (const std::string_view name : Activation::names())
    EXPECT_TRUE(Activation::from_name(name)) << name;
  EXPECT_FALSE(Activation::from_name("SiLU")) << "ACT2FN's keys are exact";
  EXPECT_FALSE(Activation::from_name(""));
}

}  // namespace
}  // namespace memtape::nn
