// SPDX-License-Identifier: Apache-2.0
#include "mesh/gpu_names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/comma_list.h"
#include "base/letter_case.h"
#include "base/text.h"

namespace memtape {
namespace {

/// A name as people type it: small letters and digits in words, without the makers' names.
/// "NVIDIA GeForce RTX4090_D" is "rtx-4090-d".
std::string plain(std::string_view name) {
  std::string words;
  char last = '-';
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    const char next = std::isalnum(u) != 0 ? static_cast<char>(std::tolower(u)) : '-';
    if (next == '-' && last == '-') continue;
    words += next;
    last = next;
  }
  for (const std::string_view maker :
       {"nvidia-", "geforce-", "amd-", "radeon-", "instinct-", "intel-", "tesla-"})
    if (words.starts_with(maker)) words.erase(0, maker.size());
  for (const std::string_view series : {"rtx", "gtx", "rx", "tpu"})
    if (words.starts_with(series) && words.size() > series.size() && words[series.size()] != '-')
      words.insert(series.size(), 1, '-');
  while (words.ends_with('-')) words.pop_back();
  return words;
}

/// "rtx-2080-ti" as "rtx2080ti", which is also how people write it.
std::string joined(std::string_view words) {
  std::string text(words);
  std::erase(text, '-');
  return text;
}

/// Whether `id` is `name`, with its series ("rtx-") left out or not.
bool is_named(std::string_view id, std::string_view name) {
  if (name.empty()) return false;
  if (joined(id) == joined(name)) return true;
  for (const std::string_view series : {"rtx-", "gtx-", "rx-", "apple-", "arc-", "tpu-"})
    if (id.starts_with(series) && joined(id.substr(series.size())) == joined(name)) return true;
  return false;
}

std::vector<std::string_view> names_sold(const GpuFacts& gpu) {
  return parts_between(gpu.sold_as, ';');
}

void add_words(std::set<std::string>& words, std::string_view text) {
  for (const std::string_view word : parts_between(text, '-')) words.emplace(word);
}

/// All words of a GPU's id and names, and the size that it is sold as: "48gb".
std::set<std::string> words_of(const GpuFacts& gpu) {
  std::set<std::string> words{fmt::format("{}gb", gpu.marketing_gb)};
  add_words(words, gpu.id);
  add_words(words, plain(gpu.name));
  for (const std::string_view name : names_sold(gpu)) add_words(words, plain(name));
  return words;
}

using Gpus = std::vector<const GpuFacts*>;

/// The GPUs whose id goes on where `name` ends: "h100" is the beginning of three.
Gpus that_begin(const std::string& name) {
  Gpus found;
  for (const GpuFacts& gpu : data::gpus()) {
    const std::size_t at = gpu.id.find(name + "-");
    if (!name.empty() && at != std::string_view::npos &&
        (at == 0 || is_named(gpu.id.substr(0, at + name.size()), name)))
      found.push_back(&gpu);
  }
  return found;
}

/// The GPUs that have every word of `name`, in any order: "a100-pcie-80gb".
Gpus with_words(const std::string& name) {
  std::set<std::string> typed;
  add_words(typed, name);
  Gpus found;
  for (const GpuFacts& gpu : data::gpus())
    if (std::ranges::includes(words_of(gpu), typed)) found.push_back(&gpu);
  return found;
}

/// The one that is called by the name and its memory alone: "h100" is h100-80gb, the others of the
/// name have words of their own. "a100" has two.
const GpuFacts* plainest(const Gpus& found, std::string_view name) {
  const GpuFacts* only = nullptr;
  for (const GpuFacts* gpu : found) {
    if (gpu->id != fmt::format("{}-{}gb", name, gpu->marketing_gb)) continue;
    if (only) return nullptr;
    only = gpu;
  }
  return only;
}

const GpuFacts* only(const Gpus& found) { return found.size() == 1 ? found.front() : nullptr; }

/// A laptop's GPU shares its name with a desktop's and is another chip, mostly with less memory.
std::string suggestion_for_laptop(std::string_view name) {
  for (const std::string_view end : {"-laptop", "-laptop-gpu", "-mobile", "-max-q"}) {
    if (!name.ends_with(end)) continue;
    const std::string_view desktop = name.substr(0, name.size() - end.size());
    for (const GpuFacts& gpu : data::gpus())
      if (is_named(gpu.id, desktop))
        return fmt::format(
            "this laptop's GPU is not in the catalog: --gpu {} --gpu-memory-bytes with the total "
            "that nvidia-smi shows, like 8GiB",
            gpu.id);
    return "this laptop's GPU is not in the catalog: the desktop's name, and --gpu-memory-bytes "
           "with the total that nvidia-smi shows";
  }
  return {};
}

}  // namespace

const GpuFacts* gpu_named(std::string_view name) {
  const std::string lower = lower_case(std::string(name));
  for (const GpuFacts& gpu : data::gpus())
    if (lower_case(std::string(gpu.id)) == lower || lower_case(std::string(gpu.name)) == lower)
      return &gpu;
  const std::string typed = plain(name);
  for (const GpuFacts& gpu : data::gpus()) {
    if (is_named(gpu.id, typed) ||
        is_named(fmt::format("{}-{}gb", gpu.id, gpu.marketing_gb), typed))
      return &gpu;
    for (const std::string_view sold : names_sold(gpu))
      if (is_named(plain(sold), typed)) return &gpu;
  }
  const Gpus begun = that_begin(typed);
  if (const GpuFacts* gpu = only(begun)) return gpu;
  if (const GpuFacts* gpu = plainest(begun, typed)) return gpu;
  return only(with_words(typed));
}

std::string suggestion_for_gpu(std::string_view name) {
  constexpr std::size_t kMostToChooseFrom = 8;
  const std::string typed = plain(name);
  if (std::string laptop = suggestion_for_laptop(typed); !laptop.empty()) return laptop;
  Gpus found = that_begin(typed);
  if (found.empty()) found = with_words(typed);
  std::vector<std::string_view> ids;
  for (const GpuFacts* gpu : found) ids.push_back(gpu->id);
  if (!ids.empty() && ids.size() <= kMostToChooseFrom)
    return fmt::format("which one: {}", fmt::join(ids, ", "));
  ids.clear();
  for (const GpuFacts& gpu : data::gpus()) ids.push_back(gpu.id);
  const std::string_view near = nearest(typed, ids);
  return near.empty() ? "see memtape gpus" : fmt::format("did you mean {}?", near);
}

}  // namespace memtape
