// SPDX-License-Identifier: Apache-2.0
#include "phantom/step_cache.h"

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace memtape::phantom_run {
namespace {

namespace fs = std::filesystem;

/// Empty where the user has no place for caches.
fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return fs::path(cache) / "memtape" / "steps";
  const char* home = std::getenv("HOME");
  return home && *home ? fs::path(home) / ".cache" / "memtape" / "steps" : fs::path();
}

/// FNV-1a; the key itself stands in the file, so that two keys of one hash are told apart.
std::uint64_t hash_of(const std::string& key) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

fs::path kept_file(const std::string& key) {
  const fs::path folder = cache_folder();
  return folder.empty() ? folder : folder / fmt::format("{:016x}.json", hash_of(key));
}

}  // namespace

std::string step_key(const StepRequest& request, const std::string& script,
                     const std::string& packages) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", request.gpu.id, request.placement, request.python,
                     packages, script);
}

std::optional<KeptStep> find_kept_step(const std::string& key) {
  std::ifstream file(kept_file(key), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const nlohmann::json kept = nlohmann::json::parse(text, nullptr, false);
  if (!kept.is_object() || kept.value("key", "") != key || !kept.contains("expect") ||
      !kept.contains("flash_scratch"))
    return std::nullopt;
  KeptStep step{kept.value("stack", ""), kept["expect"].dump(), {}};
  step.choices.flash_scratch = kept.value("flash_scratch", Bytes{0});
  if (const auto excess = kept.find("convolution_excess"); excess != kept.end())
    step.choices.convolution_excess = excess->get<Bytes>();
  return step;
}

void keep_step(const std::string& key, const KeptStep& step) {
  const fs::path file = kept_file(key);
  if (file.empty()) return;
  std::error_code failed;
  fs::create_directories(file.parent_path(), failed);
  // Written beside and then moved, so that no other process reads half a file.
  const fs::path beside = file.string() + ".new";
  nlohmann::json kept{{"key", key},
                      {"stack", step.stack},
                      {"expect", nlohmann::json::parse(step.expect_json, nullptr, false)},
                      {"flash_scratch", step.choices.flash_scratch}};
  if (step.choices.convolution_excess)
    kept["convolution_excess"] = *step.choices.convolution_excess;
  std::ofstream(beside, std::ios::binary) << kept.dump();
  fs::rename(beside, file, failed);
}

}  // namespace memtape::phantom_run
