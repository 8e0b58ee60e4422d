// SPDX-License-Identifier: Apache-2.0
#include "predict/unread_release.h"

#include <algorithm>
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

/// The newest release that steps of the family were recorded under, of those before the one meant.
Version compared_before(std::string_view family, Version meant) {
  Version newest;
  for (const ReleaseCost& row : release_costs(Package::transformers))
    if (row.family == family && row.release < meant) newest = row.release;
  return newest;
}

bool is_recorded(std::string_view family, Version meant) {
  return std::ranges::any_of(release_costs(Package::transformers), [&](const ReleaseCost& row) {
    return row.family == family && row.release == meant;
  });
}

}  // namespace

std::string unread_warning(const Config& config, const TrainRecipe& recipe) {
  const std::vector<Package> packages = packages_of(recipe);
  if (std::ranges::find(packages, Package::transformers) == packages.end()) return {};
  const Version whole = recipe.release.of(Package::transformers);
  const Version meant{whole.major, whole.minor};
  const std::string family = type_of(config);
  if (is_recorded(family, meant)) return {};
  std::vector<std::string_view> files;
  const bool has_trainer = dialect_of(recipe).framework.takes.training_arguments;
  for (const UnreadFile& unread : unread_files())
    if (unread.release == meant && runs(unread.file, config, has_trainer))
      files.push_back(unread.file.substr(unread.file.rfind('/') + 1));
  if (files.empty()) return {};
  const Version before = compared_before(family, meant);
  return fmt::format(
      "transformers {} was not compared for {}, and {} {} otherwise there than in the releases "
      "that "
      "were: the answer follows the rules of {}",
      whole.text(), family, fmt::join(files, ", "), files.size() == 1 ? "is" : "are",
      before == Version{} ? "the changes that have a name"
                          : fmt::format("{}.{}", before.major, before.minor));
}

}  // namespace memtape
