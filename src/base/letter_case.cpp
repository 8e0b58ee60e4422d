// SPDX-License-Identifier: Apache-2.0
#include "base/letter_case.h"

namespace memtape {
namespace {

constexpr char kToLower = 'a' - 'A';

}  // namespace

std::string lower_case(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + kToLower);
  return text;
}

std::string upper_case(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - kToLower);
  return text;
}

}  // namespace memtape
