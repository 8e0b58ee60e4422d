// SPDX-License-Identifier: Apache-2.0
#include "report/html_page.h"

#include <array>
#include <utility>

#include "report/html_assets.h"

namespace memtape::report {
namespace {

/// JSON that may stand in a script element: "</" would end it.
std::string in_script(std::string json) {
  for (std::size_t at = json.find("</"); at != std::string::npos; at = json.find("</", at + 3))
    json.insert(at + 1, 1, '\\');
  return json;
}

}  // namespace

std::string html_page(std::string_view body, std::string_view script, std::string data) {
  const std::string json = in_script(std::move(data));
  const std::string scripts = std::string(kWords).append("\n").append(script);
  const std::array<std::pair<std::string_view, std::string_view>, 4> parts{
      {{"@style@", kStyle}, {"@body@", body}, {"@data@", json}, {"@script@", scripts}}};
  std::string whole;
  std::string_view rest = kFrame;
  for (const auto& [mark, text] : parts) {
    const std::size_t at = rest.find(mark);
    whole.append(rest.substr(0, at)).append(text);
    rest.remove_prefix(at + mark.size());
  }
  return whole.append(rest);
}

}  // namespace memtape::report
