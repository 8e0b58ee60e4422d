// SPDX-License-Identifier: Apache-2.0
#include "sources/http_headers.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace memtape::sources {
namespace {

std::optional<Bytes> integer_after(std::string_view text, char before) {
  const std::size_t at = text.rfind(before);
  const std::string_view digits = at == std::string_view::npos ? text : text.substr(at + 1);
  Bytes value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return error == std::errc() && value >= 0 ? std::optional(value) : std::nullopt;
}

/// The part after "name: " when the line is that header.
std::optional<std::string_view> header_value(std::string_view line, std::string_view name) {
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (line.size() <= name.size() || line[name.size()] != ':') return std::nullopt;
  if (!std::equal(name.begin(), name.end(), line.begin(),
                  [&](char a, char b) { return same(b, a); }))
    return std::nullopt;
  line.remove_prefix(name.size() + 1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n' || line.back() == ' '))
    line.remove_suffix(1);
  return line;
}

/// "HTTP/1.1 200 OK"
long status_of(std::string_view line) {
  const std::size_t space = line.find(' ');
  long status = 0;
  if (space != line.npos)
    std::from_chars(line.data() + space + 1, line.data() + line.size(), status);
  return status;
}

}  // namespace

void take_header(std::string_view line, HttpResponse& response) {
  if (line.starts_with("HTTP/")) {
    response.total.reset();
    response.error_code.clear();
    response.status = status_of(line);
  }
  if (const auto value = header_value(line, "content-range"))
    response.total = integer_after(*value, '/');
  if (const auto value = header_value(line, "content-length"); value && !response.total)
    response.total = integer_after(*value, ' ');
  if (const auto value = header_value(line, "x-error-code")) response.error_code = *value;
}

}  // namespace memtape::sources
