// SPDX-License-Identifier: Apache-2.0
#include "report/style.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace memtape::report {
namespace {

struct Look {
  Ink ink;
  std::string_view shade, letter;
};

/// By Category.
constexpr std::array<Look, kCategories> kLooks{{
    {68, "█", "P"},   // parameter
    {103, "▤", "B"},  // buffer
    {98, "▓", "O"},   // optimizer_state
    {172, "▒", "G"},  // gradient
    {71, "░", "A"},   // activation
    {73, "▥", "I"},   // input
    {168, "▚", "T"},  // temporary
    {167, "▞", "D"},  // autograd_detail
    {37, "▦", "K"},   // kv_cache
    {178, "▧", "C"},  // communication
    {137, "▨", "W"},  // workspace
    {139, "▩", "H"},  // cuda_graph
    {245, "▣", "X"},  // context
    {242, "◇", "U"},  // unknown
}};

const Look& look(Category c) { return kLooks[static_cast<std::size_t>(c)]; }

constexpr bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

/// The first `width` code points of `text`.
std::string_view first_columns(std::string_view text, int width) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if (starts_code_point(text[at]) && width-- == 0) break;
  return text.substr(0, at);
}

}  // namespace

Ink ink(Category category) { return look(category).ink; }

std::string Style::bold(std::string_view text) const {
  return colour ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string Style::paint(std::string_view text, Ink ink) const {
  return colour ? fmt::format("\x1b[38;5;{}m{}\x1b[0m", ink, text) : std::string(text);
}

std::string Style::paint(std::string_view text, Ink ink, Ink ground) const {
  return colour ? fmt::format("\x1b[38;5;{};48;5;{}m{}\x1b[0m", ink, ground, text)
                : std::string(text);
}

std::string_view Style::fill(Category category) const {
  if (ascii) return look(category).letter;
  return colour ? "█" : look(category).shade;
}

int columns(std::string_view text) {
  int count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b')
      i = std::min(text.find('m', i), text.size());
    else
      count += starts_code_point(text[i]);
  }
  return count;
}

std::string pad_right(std::string text, int width) {
  const int missing = width - columns(text);
  return missing > 0 ? text.append(static_cast<std::size_t>(missing), ' ') : text;
}

std::string pad_left(std::string text, int width) {
  const int missing = width - columns(text);
  return missing > 0 ? text.insert(0, static_cast<std::size_t>(missing), ' ') : text;
}

std::string shorten(std::string_view text, int width, const Style& style) {
  const int length = columns(text);
  if (length <= width) return std::string(text);
  const std::string_view gap = style.pick("…", "~");
  const int head = std::max(0, width / 2 - 1), tail = std::max(0, width - head - 1);
  const std::string_view start = first_columns(text, head);
  return std::string(start) + std::string(gap) +
         std::string(text.substr(first_columns(text, length - tail).size()));
}

std::vector<std::string> wrap(std::string_view text, int width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!line.empty() && columns(line) + 1 + columns(word) > width)
      lines.push_back(std::exchange(line, ""));
    if (!line.empty()) line += ' ';
    line += word;
    while (columns(line) > width) {
      const std::string_view head = first_columns(line, width);
      lines.emplace_back(head);
      line.erase(0, head.size());
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

void Facts::add(std::string_view name, std::string_view text) {
  std::string line = "  " + std::string(name);
  for (const std::string& part : wrap(text, std::max(width_ - column_, column_))) {
    text_ += pad_right(std::exchange(line, ""), column_) + part + "\n";
  }
}

std::string bar(std::int64_t eighths, const Style& style) {
  static constexpr std::array<std::string_view, 8> kParts{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string text;
  if (!style.draws) return text;
  for (std::int64_t i = 0; i < eighths / 8; ++i) text += style.pick("█", "#");
  if (style.ascii) return eighths % 8 >= 4 ? text + "#" : text;
  return text += kParts[static_cast<std::size_t>(eighths % 8)];
}

}  // namespace memtape::report
