// SPDX-License-Identifier: Apache-2.0
#include "report/largest.h"

#include <algorithm>

#include "report/fold.h"
#include "report/why.h"

namespace memtape::report {

std::vector<LargestTensor> largest_tensors(const Tape& tape, const BlockSizes& sizes,
                                           std::span<const BlockId> blocks, std::size_t count) {
  const PathPatterns patterns(tape.scopes);
  std::vector<Fold> folds = fold(tape, sizes, blocks, patterns);
  std::stable_sort(folds.begin(), folds.end(),
                   [](const Fold& a, const Fold& b) { return a.allocated > b.allocated; });
  if (folds.size() > count) folds.resize(count);

  std::vector<LargestTensor> rows;
  rows.reserve(folds.size());
  for (const Fold& f : folds) {
    const Why why = tape.why[f.blocks.front()];
    const std::string module = patterns.text(f.pattern);
    const auto* dims = why.shape.dims.data();
    rows.push_back({why.category,
                    module,
                    why.op,
                    {dims, dims + why.shape.rank},
                    std::string(name(why.dtype)),
                    static_cast<std::int64_t>(f.blocks.size()),
                    f.allocated,
                    why_sentence(why, module)});
  }
  return rows;
}

}  // namespace memtape::report
