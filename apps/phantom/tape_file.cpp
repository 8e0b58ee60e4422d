// SPDX-License-Identifier: Apache-2.0
#include "phantom/tape_file.h"

#include <array>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

namespace memtape::phantom_run {
namespace {

using TapeJson = nlohmann::json;

/// The agent's own numbers.
enum Code { kAlloc = 0, kFree = 1, kPhase = 2, kEmptyCache = 3 };
constexpr std::array kCategories{
    Category::parameter,  Category::buffer,    Category::optimizer_state, Category::gradient,
    Category::activation, Category::temporary, Category::unknown};
constexpr std::array kPhases{Phase::init, Phase::forward, Phase::backward, Phase::optimizer};

class Reader {
 public:
  explicit Reader(TapeFile& file) : file_(file) {}

  bool read(const TapeJson& json) {
    for (const TapeJson& place : json.at("places"))
      file_.places.push_back(place.get<std::string>());
    for (const std::string& place : file_.places)
      scopes_.push_back(place.empty() ? 0 : file_.tape.scopes.add(0, place));
    file_.dropped = json.at("dropped").get<std::int64_t>();
    file_.step = json.at("step").get<int>();
    file_.tape.mark({.phase = Phase::init, .step = -1, .micro_batch = 0});
    for (const TapeJson& event : json.at("events"))
      if (!add(event.get<std::vector<std::int64_t>>())) return false;
    return true;
  }

 private:
  bool add(const std::vector<std::int64_t>& e) {
    if (e.empty()) return false;
    if (e[0] == kAlloc) return alloc(e);
    if (e[0] == kEmptyCache) {
      file_.tape.empty_cache();
      return true;
    }
    if (e[0] == kPhase) return begin(e);
    if (e.size() != 2 || e[0] != kFree || !known(e[1], file_.tape.requested.size())) return false;
    file_.tape.free(static_cast<BlockId>(e[1]), streams_[static_cast<std::size_t>(e[1])]);
    return true;
  }

  static bool known(std::int64_t index, std::size_t size) {
    return index >= 0 && static_cast<std::uint64_t>(index) < size;
  }

  bool alloc(const std::vector<std::int64_t>& e) {
    if (e.size() != 6 || e[1] < 0 || !known(e[3], kCategories.size()) ||
        !known(e[4], file_.places.size()) || !known(e[5], scopes_.size()))
      return false;
    Why why;
    why.category = kCategories[static_cast<std::size_t>(e[3])];
    why.phase = phase_;
    why.op = file_.places[static_cast<std::size_t>(e[4])].c_str();
    why.scope = scopes_[static_cast<std::size_t>(e[5])];
    streams_.push_back(static_cast<StreamId>(e[2]));
    file_.tape.alloc(e[1], streams_.back(), why);
    return true;
  }

  /// A forward pass behind a backward pass of the step is the next micro-batch.
  bool begin(const std::vector<std::int64_t>& e) {
    constexpr std::size_t kMostSteps = 1 << 30;
    if (e.size() != 3 || !known(e[1], kMostSteps) || !known(e[2], kPhases.size())) return false;
    const Phase next = kPhases[static_cast<std::size_t>(e[2])];
    const int step = static_cast<int>(e[1]);
    if (step != step_) micro_batch_ = 0;
    if (step == step_ && next == Phase::forward && phase_ == Phase::backward) ++micro_batch_;
    step_ = step;
    phase_ = next;
    file_.tape.mark({phase_, step_, micro_batch_});
    return true;
  }

  TapeFile& file_;
  std::vector<ScopeId> scopes_;    ///< by place
  std::vector<StreamId> streams_;  ///< by BlockId
  Phase phase_ = Phase::init;
  int step_ = -1, micro_batch_ = 0;
};

}  // namespace

Result<TapeFile> read_tape_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  TapeFile file;
  bool good = false;
  try {
    good = Reader(file).read(TapeJson::parse(text));
  } catch (const TapeJson::exception&) {
    good = false;
  }
  if (!good)
    return tl::unexpected(Error{ErrorKind::internal, "is no tape of a process", path.string(), {}});
  return file;
}

}  // namespace memtape::phantom_run
