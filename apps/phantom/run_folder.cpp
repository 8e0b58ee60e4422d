// SPDX-License-Identifier: Apache-2.0
#include "phantom/run_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include <fmt/format.h>

#include "phantom/process_file.h"

namespace memtape::phantom_run {
namespace {

namespace fs = std::filesystem;
using phantom::LedgerLayout;

/// The exit code of a program that was ended because it waited for a value that never comes.
constexpr int kWaitsForEver = 3;
/// That of a run which says 0 although a rank of it died.
constexpr int kRankDied = 1;

LedgerLayout* make_ledger(const fs::path& folder) {
  const int file =
      open((folder / phantom::kLedgerFile).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return nullptr;
  void* at = MAP_FAILED;
  if (ftruncate(file, sizeof(LedgerLayout)) == 0)
    at = mmap(nullptr, sizeof(LedgerLayout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (at == MAP_FAILED) return nullptr;
  auto* ledger = static_cast<LedgerLayout*>(at);
  ledger->magic = phantom::kLedgerMagic;
  return ledger;
}

void read_gpus(const LedgerLayout& ledger, report::PhantomRun& run) {
  std::map<int, report::RunGpu> gpus;
  for (const phantom::LedgerProcess& p : ledger.processes) {
    if (p.pid == 0) break;
    run.pinned_peak += p.pinned_peak;
    run.managed_peak += p.managed_peak;
    run.launches += p.launches;
    for (int i = 0; i < phantom::kLedgerDevices; ++i) {
      const phantom::LedgerDevice& d = p.devices[i];
      if (d.context == 0 && d.peak == 0 && d.refused == 0) continue;
      report::RunGpu& gpu = gpus[i];
      gpu.gpu = i;
      ++gpu.processes;
      gpu.nccl += d.nccl;
      gpu.refused += d.refused;
    }
  }
  for (auto& [number, gpu] : gpus) {
    gpu.peak_device = ledger.gpus[number].peak;
    gpu.context = ledger.gpus[number].context_at_peak;
    run.by_gpu.push_back(gpu);
  }
}

/// "PID KIND TEXT" a line; what processes say alike is said once.
void read_notes(const fs::path& folder, report::PhantomRun& run) {
  std::ifstream file(folder / "notes");
  std::set<std::string> said;
  for (std::string line; std::getline(file, line);) {
    const std::size_t kind_at = line.find(' ') + 1, text_at = line.find(' ', kind_at) + 1;
    if (kind_at == 0 || text_at == 0) continue;
    const std::string kind = line.substr(kind_at, text_at - kind_at - 1),
                      text = line.substr(text_at);
    if (kind == "waits") run.exit_code = kWaitsForEver;
    if (kind == "communicator" || kind == "missing" || text.starts_with("libnvidia-ml ")) continue;
    const std::string warning = kind == "refused"
                                    ? fmt::format("a call was refused as unsupported: {}", text)
                                : kind == "estimated" ? fmt::format("estimated: {}", text)
                                                      : text;
    if (said.insert(warning).second) run.warnings.push_back(warning);
  }
}

void add_process(ProcessFile&& process, report::PhantomRun& run) {
  run.python = process.python;
  run.torch = process.torch;
  for (report::RunEntry& e : process.entries) run.entries.push_back(std::move(e));
  for (report::DataRead& r : process.reads) {
    const auto same = std::ranges::find(run.reads, r.place, &report::DataRead::place);
    if (same == run.reads.end())
      run.reads.push_back(std::move(r));
    else
      same->count += r.count;
  }
  for (report::Invention& i : process.inventions) {
    const auto same = std::ranges::find_if(run.inventions, [&](const report::Invention& of) {
      return of.place == i.place && of.what == i.what;
    });
    if (same == run.inventions.end()) {
      run.inventions.push_back(std::move(i));
      continue;
    }
    same->count += i.count;
    same->reads += i.reads;
  }
  for (const std::string& warning : process.warnings)
    if (std::ranges::find(run.warnings, warning) == run.warnings.end())
      run.warnings.push_back(warning);
}

/// The other ranks of a phantom go on without one that died, since no collective waits, and the
/// launcher may end well: what is reported then is no run of the program.
void tell_dead_ranks(const std::vector<ProcessFile>& processes, report::PhantomRun& run) {
  const bool stopped = std::ranges::any_of(processes, &ProcessFile::stopped);
  for (const ProcessFile& p : processes) {
    if (!p.is_rank || (p.died.empty() && (p.finished || stopped))) continue;
    run.warnings.push_back(fmt::format("rank {} died: {}", p.rank,
                                       p.died.empty() ? "it was ended from outside" : p.died));
    if (run.exit_code == 0) run.exit_code = kRankDied;
  }
}

}  // namespace

Result<RunFolder> RunFolder::make() {
  std::error_code error;
  const fs::path shape = fs::temp_directory_path(error) / "memtape-run-XXXXXX";
  std::string name = shape.string();
  RunFolder folder;
  if (error || !mkdtemp(name.data()))
    return tl::unexpected(Error{ErrorKind::internal, "no temporary folder can be made",
                                shape.string(), "see TMPDIR"});
  folder.path_ = name;
  folder.ledger_ = make_ledger(folder.path_);
  if (!folder.ledger_)
    return tl::unexpected(Error{ErrorKind::internal, "cannot be written", name, {}});
  return folder;
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), ledger_(other.ledger_) {
  other.path_.clear();
  other.ledger_ = nullptr;
}

RunFolder::~RunFolder() {
  if (ledger_) munmap(ledger_, sizeof(LedgerLayout));
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

void RunFolder::read_into(report::PhantomRun& run) const {
  std::error_code ignored;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path_, ignored))
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  std::ranges::sort(files);
  std::vector<ProcessFile> processes;
  for (const fs::path& file : files) {
    Result<ProcessFile> process = read_process_file(file);
    if (process)
      processes.push_back(std::move(*process));
    else
      run.warnings.push_back(process.error().line());
  }
  tell_dead_ranks(processes, run);
  for (ProcessFile& process : processes) add_process(std::move(process), run);
  std::ranges::sort(run.entries, {},
                    [](const report::RunEntry& e) { return std::tuple(e.rank, e.gpu, e.pid); });
  std::ranges::sort(run.reads, std::greater<>(), &report::DataRead::largest);
  std::ranges::stable_sort(run.inventions, std::greater<>(), &report::Invention::reads);
  read_gpus(*ledger_, run);
  read_notes(path_, run);
}

}  // namespace memtape::phantom_run
