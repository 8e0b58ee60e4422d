// SPDX-License-Identifier: Apache-2.0
#include "plan_folder.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "sources/files.h"

namespace memtape::cli {

namespace fs = std::filesystem;

Result<void> check_folder(const answer::ExportRequest& request) {
  std::error_code error;
  const fs::path folder(request.folder);
  if (fs::exists(folder, error) && !fs::is_directory(folder, error))
    return bad_input("is a file", "--export " + request.folder, "the name of a folder");
  if (fs::is_directory(folder, error) && !fs::is_empty(folder, error) && !request.force)
    return bad_input("has files in it", "--export " + request.folder,
                     "an empty or a new folder, or --force to write over files of the same names");
  return {};
}

Result<std::string> write_folder(const answer::ExportRequest& request, const PlanAnswer& answer) {
  if (answer.files.empty()) return std::string("no plan fits, so none is written");
  std::error_code error;
  fs::create_directories(request.folder, error);
  if (error)
    return bad_input(fmt::format("cannot be made: {}", error.message()),
                     "--export " + request.folder, "");
  std::string names;
  for (const PlanFile& file : answer.files) {
    const fs::path path = fs::path(request.folder) / file.name;
    if (const auto written = sources::write_file(path.string(), file.text); !written)
      return tl::unexpected(written.error());
    if (file.runs)
      fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add, error);
    names += (names.empty() ? "" : ", ") + file.name;
  }
  return fmt::format("plan {} is in {}: {}; bash {}/run.sh starts it", answer.written_plan,
                     request.folder, names, request.folder);
}

}  // namespace memtape::cli
