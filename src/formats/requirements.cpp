// SPDX-License-Identifier: Apache-2.0
#include "formats/requirements.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "formats/toml.h"

namespace memtape {
namespace {

/// Requirements as PEP 508 writes them, one after the other.
class RequirementReader {
 public:
  /// "torch==2.8.0 ; python_version >= '3.9' --hash=..." of line `line`.
  Result<void> take(std::string_view requirement, std::string_view where) {
    const std::string_view text = trimmed(requirement.substr(0, requirement.find(';')));
    const std::size_t name_end = std::min(text.find_first_of(" \t[=<>!~@(,"), text.size());
    const std::optional<Package> package = find_package(text.substr(0, name_end));
    if (!package) return {};
    std::string_view pin = text.substr(std::min(text.find("=="), text.size()));
    while (pin.starts_with('=')) pin.remove_prefix(1);
    pin = trimmed(pin);
    pin = pin.substr(0, pin.find_first_of(" \t,\\"));
    const bool is_pinned = !pin.empty() && pin.find('*') == std::string_view::npos;
    if (!is_pinned) {
      unpinned_.emplace_back(text);
      return {};
    }
    return put(*package, pin, where);
  }

  Result<void> put(Package package, std::string_view version, std::string_view where) {
    const std::string pair = fmt::format("{}=={}", facts_of(package).name, version);
    const auto named = parse_requirement_list(pair, where, releases_.release);
    if (!named) return tl::unexpected(named.error());
    const bool again = std::ranges::find(releases_.named, package) != releases_.named.end();
    if (again && named->release != releases_.release)
      return bad_input(fmt::format("a second version of {}", facts_of(package).name),
                       std::string(where), "a file that names one");
    releases_.release = named->release;
    if (!again) releases_.named.push_back(package);
    return {};
  }

  Requirements done() { return {std::move(releases_), std::move(unpinned_)}; }

 private:
  NamedReleases releases_{};
  std::vector<std::string> unpinned_;
};

Result<void> take_lines(std::string_view text, std::string_view file, RequirementReader& reader) {
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (const std::size_t comment = line.find(" #"); comment != std::string_view::npos)
      line = line.substr(0, comment);
    line = trimmed(line);
    if (line.empty() || line.front() == '#' || line.front() == '-') continue;
    if (const auto taken = reader.take(line, place_in(file, number)); !taken) return taken;
  }
  return {};
}

/// Every string below the node, with the place it stands at.
Result<void> take_strings(const YamlNode& node, std::string_view file, RequirementReader& reader) {
  if (node.kind == YamlNode::Kind::scalar) return reader.take(node.text, place_in(file, node.line));
  for (const YamlNode& child : node.children)
    if (const auto taken = take_strings(child, file, reader); !taken) return taken;
  return {};
}

Result<void> take_locked(const YamlNode& packages, std::string_view file,
                         RequirementReader& reader) {
  for (const YamlNode& entry : packages.children) {
    const YamlNode* name = entry.find("name");
    const YamlNode* version = entry.find("version");
    if (!name || !version) continue;
    const std::optional<Package> package = find_package(name->text);
    if (!package) continue;
    if (const auto put = reader.put(*package, version->text, place_in(file, version->line)); !put)
      return put;
  }
  return {};
}

Result<void> take_toml(std::string_view text, std::string_view file, RequirementReader& reader) {
  const Result<YamlNode> document = read_toml(text, file);
  if (!document) return tl::unexpected(document.error());
  if (const YamlNode* locked = document->find("package")) return take_locked(*locked, file, reader);
  const YamlNode* project = document->find("project");
  if (!project)
    return bad_input("neither [[package]] nor [project]", std::string(file),
                     "uv.lock, poetry.lock or pyproject.toml");
  for (const char* list : {"dependencies", "optional-dependencies"})
    if (const YamlNode* node = project->find(list))
      if (const auto taken = take_strings(*node, file, reader); !taken) return taken;
  if (const YamlNode* groups = document->find("dependency-groups"))
    return take_strings(*groups, file, reader);
  return {};
}

}  // namespace

Result<Requirements> read_requirements(std::string_view text, std::string_view file) {
  RequirementReader reader;
  const bool is_toml = file.ends_with(".lock") || file.ends_with(".toml");
  const Result<void> taken =
      is_toml ? take_toml(text, file, reader) : take_lines(text, file, reader);
  if (!taken) return tl::unexpected(taken.error());
  return reader.done();
}

}  // namespace memtape
