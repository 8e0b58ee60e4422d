// SPDX-License-Identifier: Apache-2.0
// The web page of `memtape run --html`: the last whole step of the fullest process, tensor by
// tensor, each with the Python line that allocated it. The recorded requests are played through the
// replica of the allocator, which tells what they took. If its peak differs from that of the run,
// the page says so.
#pragma once

#include <string>

#include "command.h"
#include "phantom/request.h"
#include "phantom/run_folder.h"
#include "report/phantom_run.h"

namespace memtape::cli {

Result<std::string> run_page(const RawOptions& asked, const phantom_run::PhantomRequest& request,
                             const phantom_run::RunFolder& folder, const report::PhantomRun& run);

}  // namespace memtape::cli
