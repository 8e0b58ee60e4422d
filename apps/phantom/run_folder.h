// SPDX-License-Identifier: Apache-2.0
// RunFolder: where the processes of a run leave what they know: the ledger that all of them share,
// a file for each process, and notes. The folder is removed when the run is over.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "core/ledger_layout.h"
#include "report/phantom_run.h"

namespace memtape::phantom_run {

class RunFolder {
 public:
  static Result<RunFolder> make();
  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  const phantom::LedgerLayout& ledger() const { return *ledger_; }

  /// Adds what is in the folder to a run: entries, GPUs, reads and warnings.
  void read_into(report::PhantomRun& run) const;

 private:
  RunFolder() = default;

  std::filesystem::path path_;
  phantom::LedgerLayout* ledger_ = nullptr;
};

}  // namespace memtape::phantom_run
