// SPDX-License-Identifier: Apache-2.0
#include "answer/echo.h"

#include "report/style.h"

namespace memtape::answer {
namespace {

constexpr int kLongestWord = 200, kLongestEcho = 1000;

}  // namespace

std::string echoed(std::string_view text) {
  std::string all;
  while (!text.empty() && all.size() <= 4 * kLongestEcho) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    all += report::shorten(word, kLongestWord, {});
    if (text.starts_with(' ')) {
      all += ' ';
      text.remove_prefix(1);
    }
  }
  return report::shorten(all, kLongestEcho, {});
}

Error echoed(const Error& error) {
  return {error.kind, echoed(error.what), echoed(error.where), echoed(error.hint)};
}

}  // namespace memtape::answer
