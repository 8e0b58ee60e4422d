// SPDX-License-Identifier: Apache-2.0
// A JSON object read by a table: what rows set, what a field that is not given leaves as it is, and
// what is refused.
#include "model/config_fields.h"

#include <gtest/gtest.h>

namespace memtape {
namespace {

enum class Order : std::uint8_t { first, last };
struct Inner {
  std::optional<DType> dtype;
};
struct Plan {
  bool on = true;
  std::int64_t size = 7;
  std::optional<std::int64_t> most;
  Order order = Order::last;
  Inner inner;
};

constexpr auto kOrders =
    choices<Order>("unknown order", {{"first", Order::first}, {"last", Order::last}});
constexpr auto kInner = std::to_array<ConfigField<Inner>>({{"dtype", fields::put<&Inner::dtype>}});
constexpr auto kFields = std::to_array<ConfigField<Plan>>({
    {"on", fields::put<&Plan::on>},
    {"size length", fields::put_size<&Plan::size>},
    {"most", fields::put_size<&Plan::most>},
    {"order", fields::pick<&Plan::order, kOrders>},
    {"inner", fields::put_object<&Plan::inner, kInner>},
    {"dtype", fields::put<&Plan::inner, &Inner::dtype>},
    {"logging"},
});

Result<Plan> read(std::string_view text) {
  const Result<Config> json = Config::parse(text, "--strategy");
  Plan plan;
  return read_fields(*json, "--strategy", kFields, plan)
      .and_then([&] { return json->check(); })
      .map([&] { return plan; });
}

std::string error_of(std::string_view text) {
  const Result<Plan> plan = read(text);
  return plan ? "" : plan.error().line();
}

TEST(ConfigFields, LeaveWhatIsNotGivenAsItIs) {
  const Plan plan = read(R"({"logging": [1, {}], "most": null})").value();
  EXPECT_TRUE(plan.on);
  EXPECT_EQ(plan.size, 7);
  EXPECT_FALSE(plan.most);
  EXPECT_EQ(plan.order, Order::last);
}

TEST(ConfigFields, SetMembersByTheirTypes) {
  const Plan plan =
      read(R"({"on": false, "length": 3, "most": 5, "order": "first", "inner": {"dtype": "bf16"}})")
          .value();
  EXPECT_FALSE(plan.on);
  EXPECT_EQ(plan.size, 3);
  EXPECT_EQ(plan.most, 5);
  EXPECT_EQ(plan.order, Order::first);
  EXPECT_EQ(plan.inner.dtype, DType::bfloat16);
  EXPECT_EQ(read(R"({"dtype": "torch.float16"})")->inner.dtype, DType::float16);
}

TEST(ConfigFields, TakeTheFirstOfSeveralNames) {
  EXPECT_EQ(read(R"({"length": 3, "size": 4})")->size, 4);
}

TEST(ConfigFields, NameTheNearestKey) {
  EXPECT_EQ(error_of(R"({"lenght": 3})"),
            "--strategy: \"lenght\" is not modelled (did you mean length?)");
  EXPECT_EQ(error_of(R"({"inner": {"dtypes": "bf16"}})"),
            "--strategy: inner: \"dtypes\" is not modelled (did you mean dtype?)");
}

TEST(ConfigFields, RefuseValuesThatWillNotDo) {
  EXPECT_EQ(error_of(R"({"order": "frist"})"),
            "--strategy: order: unknown order \"frist\" (did you mean first?)");
  EXPECT_EQ(error_of(R"({"order": 1})"), "--strategy: order: must be a string, found 1");
  EXPECT_NE(error_of(R"({"size": 0})"), "");
  EXPECT_NE(error_of(R"({"on": "yes"})"), "");
  EXPECT_NE(error_of(R"({"dtype": "bf17"})").find("unknown dtype \"bf17\""), std::string::npos);
}

}  // namespace
}  // namespace memtape
