// SPDX-License-Identifier: Apache-2.0
#include "formats/safetensors.h"

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memtape {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A file of that header with `data` bytes of nothing after it.
std::string file_of(const std::string& header, std::size_t data) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i)
    bytes.push_back(static_cast<char>(header.size() >> (8 * i) & 0xFF));
  return bytes + header + std::string(data, '\0');
}

Result<TensorList> read_safetensors(const std::string& bytes) {
  return read_safetensors(MemoryBytes(bytes, "m.safetensors"));
}

std::string safetensors_complaint(const std::string& bytes) {
  const Result<TensorList> list = read_safetensors(bytes);
  return list ? "" : list.error().line();
}

std::string tensor(std::string_view name, std::string_view body) {
  return fmt::format("\"{}\": {{{}}}", name, body);
}

template <class... Members>
std::string object(const Members&... members) {
  return fmt::format("{{{}}}", fmt::join(std::vector<std::string>{members...}, ", "));
}

const std::string kSmall =
    object(tensor("b", R"("dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32])"),
           tensor("a", R"("dtype": "BF16", "shape": [4], "data_offsets": [0, 8])"),
           R"("__metadata__": {"format": "pt"})",
           tensor("e", R"("dtype": "I64", "shape": [0], "data_offsets": [32, 32])"));

TEST(Safetensors, ReadsNamesDtypesAndShapesInTheOrderOfTheData) {
  const TensorList list = read_safetensors(file_of(kSmall, 32)).value();
  ASSERT_EQ(list.tensors.size(), 3u);
  EXPECT_EQ(list.tensors[0].name, "a");
  EXPECT_EQ(list.tensors[0].torch_dtype(), DType::bfloat16);
  EXPECT_EQ(list.tensors[1].name, "b");
  EXPECT_THAT(list.tensors[1].shape, ElementsAre(2, 3));
  EXPECT_EQ(list.tensors[1].bytes, 24);
  EXPECT_EQ(list.tensors[2].elements(), 0);
  EXPECT_EQ(list.total_bytes(), 32);
  EXPECT_EQ(list.total_elements(), 10);
}

TEST(Safetensors, ReadsScalarsAndPackedTypes) {
  const std::string header =
      object(tensor("s", R"("dtype": "F64", "shape": [], "data_offsets": [0, 8])"),
             tensor("p", R"("dtype": "F4", "shape": [32], "data_offsets": [8, 24])"));
  const TensorList list = read_safetensors(file_of(header, 24)).value();
  EXPECT_EQ(list.tensors[0].elements(), 1);
  EXPECT_EQ(list.tensors[1].bytes, 16);
  EXPECT_EQ(list.tensors[1].torch_dtype(), std::nullopt);
}

TEST(Safetensors, RefusesEveryCut) {
  const std::string whole = file_of(kSmall, 32);
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(read_safetensors(whole.substr(0, length)).has_value()) << length;
  EXPECT_THAT(safetensors_complaint(whole + "x"), HasSubstr("the file is too long"));
}

TEST(Safetensors, RefusesALyingLength) {
  std::string bytes = file_of(kSmall, 32);
  bytes[7] = '\x7f';
  EXPECT_THAT(safetensors_complaint(bytes), HasSubstr("m.safetensors: claims a header of 9151314"));
  bytes = file_of(kSmall, 32);
  bytes[2] = '\x10';
  EXPECT_THAT(safetensors_complaint(bytes), HasSubstr("(the file is cut short)"));
}

TEST(Safetensors, RefusesOffsetsThatCannotBe) {
  const auto two = [](const std::string& first, const std::string& second) {
    const std::string body = R"("dtype": "U8", "shape": [4], "data_offsets": )";
    return safetensors_complaint(
        file_of(object(tensor("a", body + first), tensor("b", body + second)), 8));
  };
  EXPECT_EQ(two("[0, 4]", "[4, 8]"), "");
  EXPECT_EQ(two("[0, 4]", "[2, 6]"),
            "m.safetensors: tensor 'b' lies at data_offsets [2, 6], must begin at 4");
  EXPECT_THAT(two("[0, 4]", "[6, 10]"), HasSubstr("must begin at 4"));
  EXPECT_THAT(two("[0, 4]", "[4, 3]"), HasSubstr("data_offsets [4, 3]"));
  EXPECT_THAT(two("[0, 4]", "[4]"), HasSubstr("data_offsets must be two integers"));
  EXPECT_THAT(two("[0, 4]", "[-4, 8]"), HasSubstr("expected an integer of 0 or more"));
  EXPECT_THAT(two("[0, 5]", "[5, 9]"),
              HasSubstr("takes 4 bytes by its shape [4] of U8, but 5 by its data_offsets"));
}

TEST(Safetensors, RefusesAbsurdTensors) {
  const auto one = [](const std::string& body) {
    return safetensors_complaint(file_of(object(tensor("a", body)), 8));
  };
  EXPECT_THAT(one(R"("dtype": "U9", "shape": [8], "data_offsets": [0, 8])"),
              HasSubstr("unknown dtype 'U9'"));
  EXPECT_THAT(one(R"("dtype": "U8", "shape": [9223372036854775807, 3], "data_offsets": [0, 8])"),
              HasSubstr("impossible size: shape [9223372036854775807, 3] of U8"));
  EXPECT_THAT(one(R"("dtype": "F4", "shape": [3], "data_offsets": [0, 8])"),
              HasSubstr("impossible size"));
  EXPECT_THAT(one(R"("dtype": "U8", "shape": [99999999999999999999], "data_offsets": [0, 8])"),
              HasSubstr("expected an integer"));
  EXPECT_THAT(one(R"("dtype": "U8", "shape": [2.5], "data_offsets": [0, 8])"),
              HasSubstr("expected an integer"));
  EXPECT_THAT(one(R"("dtype": "U8", "shape": [8])"),
              HasSubstr("tensor 'a' needs dtype, shape and data_offsets"));
  EXPECT_THAT(one(R"("dtype": "U8", "shape": 8, "data_offsets": [0, 8])"),
              HasSubstr("expected '['"));
  EXPECT_THAT(one(R"("size": 8)"), HasSubstr("unknown key 'size'"));
  std::string many = "1";
  for (int i = 0; i < 40; ++i) many += ", 1";
  EXPECT_THAT(one(R"("dtype": "U8", "data_offsets": [0, 8], "shape": [)" + many + "]"),
              HasSubstr("more than 32"));
}

TEST(Safetensors, RefusesARepeatedName) {
  const std::string a = tensor("a", R"("dtype": "U8", "shape": [4], "data_offsets": [0, 4])");
  EXPECT_EQ(safetensors_complaint(file_of(object(a, a), 4)),
            "m.safetensors: tensor 'a' is listed twice");
}

TEST(Safetensors, AnEmptyHeaderIsAnEmptyList) {
  EXPECT_THAT(read_safetensors(file_of("{}", 0)).value().tensors, IsEmpty());
}

TEST(SafetensorsIndex, MapsTensorsToFiles) {
  const SafetensorsIndex index =
      parse_safetensors_index(
          R"({"metadata": {"total_size": 1}, "weight_map": {"x": "b.st", "y": "a.st", "z": "b.st"}})",
          "index.json")
          .value();
  EXPECT_THAT(index.files, ElementsAre("b.st", "a.st"));
  EXPECT_EQ(index.weights[2].name, "z");
  EXPECT_EQ(index.weights[2].file, 0u);
}

TEST(SafetensorsIndex, RefusesWhatIsNoIndexOrLeadsAway) {
  const auto wrong = [](std::string_view json) {
    return parse_safetensors_index(json, "i.json").error().line();
  };
  EXPECT_EQ(wrong("{}"), "i.json: weight_map: missing or empty, must map tensors to files");
  EXPECT_THAT(wrong(R"({"weight_map": {"x": "../../etc/passwd"}})"),
              HasSubstr("not the name of a file beside the index"));
  EXPECT_THAT(wrong(R"({"weight_map": {"x": ".."}})"), HasSubstr("not the name of a file"));
  EXPECT_THAT(wrong(R"({"weight_map": {"x": 1}})"), HasSubstr("expected a string"));
  EXPECT_THAT(wrong(R"({"weight_map": [)"), HasSubstr("expected '{'"));
}

TEST(SafetensorsIndex, JoinsShardsAndNoticesWhatIsNotThere) {
  const SafetensorsIndex index =
      parse_safetensors_index(R"({"weight_map": {"x": "1.st", "y": "2.st"}})", "i.json").value();
  const auto join = [&](std::vector<std::string> first, std::vector<std::string> second) {
    std::vector<TensorList> shards(2);
    for (auto& name : first) shards[0].tensors.push_back({name, "U8", {1}, 1});
    for (auto& name : second) shards[1].tensors.push_back({name, "U8", {1}, 1});
    return join_shards(index, std::move(shards), "i.json");
  };
  EXPECT_EQ(join({"x"}, {"y"})->tensors.size(), 2u);
  EXPECT_EQ(join({"x"}, {}).error().line(), "i.json: tensor 'y' is not in 2.st");
  EXPECT_EQ(join({"x"}, {"y", "z"}).error().line(),
            "i.json: tensor 'z' is not named by the index, but is in 2.st");
  EXPECT_EQ(join({"x", "y"}, {"y"}).error().line(),
            "i.json: tensor 'y' is not named by the index, but is in 1.st");
}

}  // namespace
}  // namespace memtape
