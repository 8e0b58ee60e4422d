// SPDX-License-Identifier: Apache-2.0
#include "predict/unread_release.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "framework/dialects.h"
#include "model/type_of.h"
#include "predict/releases_meant.h"
#include "predict/train.h"
#include "release/release_costs.h"
#include "release/unread_files.h"

namespace memtape {
namespace {

/// "models/xlm_roberta/" of "xlm-roberta", and "models/gemma3/" of "gemma3_text".
std::string folder_of(std::string type) {
  std::ranges::replace(type, '-', '_');
  constexpr std::string_view kText = "_text";
  if (type.ends_with(kText)) type.resize(type.size() - kText.size());
  return "models/" + type + "/";
}

/// Whether the file is the family's own, or one that a step of every family runs.
bool runs(std::string_view file, const Config& config, bool has_trainer) {
  if (file.starts_with("models/"))
    return file.starts_with(folder_of(type_of(config))) ||
           file.starts_with(folder_of(text_type_of(config)));
  if (file == "trainer.py" || file == "optimization.py") return has_trainer;
  return !file.starts_with("generation/");
}

}  // namespace

std::string unread_warning(const Config& config, const TrainRecipe& recipe) {
  const std::vector<Package> packages = packages_of(recipe);
  if (std::ranges::find(packages, Package::transformers) == packages.end()) return {};
  const Version whole = recipe.release.of(Package::transformers);
  const Version meant = whole.without_patch();
  const std::string family = type_of(config);
  const auto recorded = release_costs(Package::transformers, family);
  const auto from = std::ranges::lower_bound(recorded, meant, {}, &ReleaseCost::release);
  if (from != recorded.end() && from->release == meant) return {};
  std::vector<std::string_view> files;
  const bool has_trainer = dialect_of(recipe).framework.takes.training_arguments;
  for (const UnreadFile& unread : unread_files())
    if (unread.release == meant && runs(unread.file, config, has_trainer))
      files.push_back(unread.file.substr(unread.file.rfind('/') + 1));
  if (files.empty()) return {};
  const std::string rules = from == recorded.begin() ? "the changes that have a name"
                                                     : std::prev(from)->release.minor_text();
  return fmt::format(
      "transformers {} was not compared for {}, and {} {} otherwise there than in the releases "
      "that were: the answer follows the rules of {}",
      whole.text(), family, fmt::join(files, ", "), files.size() == 1 ? "is" : "are", rules);
}

}  // namespace memtape
