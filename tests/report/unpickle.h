// SPDX-License-Identifier: Apache-2.0
// A reader of pickles that knows just the opcodes of PyTorch's viewer
// (torch/utils/viz/MemoryViz.js, `unpickle`) and throws on any other, as the viewer does.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace memtape::test {

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : bytes_(bytes) {}

  nlohmann::json read() {
    if (byte() != 0x80 || byte() > 4) throw std::runtime_error("not a pickle of protocol 2 to 4");
    while (step(byte())) {
    }
    if (at_ != bytes_.size() || stack_.size() != 1)
      throw std::runtime_error("something follows the pickle");
    return stack_.back();
  }

 private:
  std::uint8_t byte() {
    if (at_ >= bytes_.size()) throw std::runtime_error("the pickle ends early");
    return static_cast<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t number(int count) {
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i) value |= std::uint64_t{byte()} << (8 * i);
    return value;
  }
  std::string text(std::size_t length) {
    if (length > bytes_.size() - at_) throw std::runtime_error("a text ends early");
    std::string value(bytes_.substr(at_, length));
    at_ += length;
    return value;
  }
  void push(nlohmann::json value) { stack_.push_back(std::move(value)); }
  std::vector<nlohmann::json> above_mark() {
    const std::size_t mark = marks_.back();
    marks_.pop_back();
    std::vector<nlohmann::json> values(stack_.begin() + static_cast<std::ptrdiff_t>(mark),
                                       stack_.end());
    stack_.resize(mark);
    // Engines limit how many arguments one call may have, and the viewer makes one of each batch.
    if (values.size() > 60000) throw std::runtime_error("a batch too large for the viewer");
    return values;
  }
  void set_items() {
    const auto values = above_mark();
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
      stack_.back()[values[i].get<std::string>()] = values[i + 1];
  }
  void append_items() {
    for (auto& value : above_mark()) stack_.back().push_back(std::move(value));
  }
  void tuple(std::size_t count) {
    nlohmann::json items = nlohmann::json::array();
    for (std::size_t i = stack_.size() - count; i < stack_.size(); ++i) items.push_back(stack_[i]);
    stack_.resize(stack_.size() - count);
    push(std::move(items));
  }
  bool step(std::uint8_t opcode) {
    switch (opcode) {
      case '}': push(nlohmann::json::object()); return true;
      case ']': push(nlohmann::json::array()); return true;
      case '(': marks_.push_back(stack_.size()); return true;
      case 'u': set_items(); return true;
      case 'e': append_items(); return true;
      case 'K': push(number(1)); return true;
      case 'M': push(number(2)); return true;
      case 'J': push(static_cast<std::int32_t>(number(4))); return true;
      case 0x8a:
        push(static_cast<std::int64_t>(
            number(byte() == 8 ? 8 : throw std::runtime_error("LONG1 of another size"))));
        return true;
      case 0x88: push(true); return true;
      case 0x89: push(false); return true;
      case 'N': push(nullptr); return true;
      case 0x86: tuple(2); return true;
      case 0x8c: push(text(number(1))); return true;
      case 'X': push(text(number(4))); return true;
      case 0x94: memo_.push_back(stack_.back()); return true;
      case 'h': push(memo_.at(number(1))); return true;
      case 'j': push(memo_.at(number(4))); return true;
      case '.': return false;
      default:
        throw std::runtime_error("the viewer does not know opcode " + std::to_string(opcode));
    }
  }

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::vector<nlohmann::json> stack_, memo_;
  std::vector<std::size_t> marks_;
};

}  // namespace memtape::test
