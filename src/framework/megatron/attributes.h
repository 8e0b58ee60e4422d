// SPDX-License-Identifier: Apache-2.0
// Megatron's arguments as JSON, under the names of argparse's attributes, as a launch command would
// have set them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memtape::megatron {

/// Each argument occurs once; its last value counts.
class Attributes {
 public:
  void number(std::string_view name, std::int64_t value);
  void truth(std::string_view name, bool value);
  void text(std::string_view name, std::string_view value);
  void texts(std::string_view name, const std::vector<std::string>& values);
  void set(std::string_view name, std::string json);
  void set_all(const Attributes& others);
  bool has(std::string_view name) const { return values_.contains(name); }
  std::string object() const;

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace memtape::megatron
