// SPDX-License-Identifier: Apache-2.0
#include "equal_tapes.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace memtape {
namespace {

bool same_why(const Why& a, const Why& b) {
  return std::string_view(a.op) == b.op && std::string_view(a.node) == b.node &&
         a.scope == b.scope && a.category == b.category && a.phase == b.phase &&
         a.dtype == b.dtype && a.shape.dims == b.shape.dims && a.shape.rank == b.shape.rank;
}

std::string described(const Tape& tape, BlockId block) {
  const Why why = tape.why[block];
  return tape.scopes.path(why.scope) + " " + why.op + " " + why.node + " " +
         std::string(name(why.category)) + " " + std::to_string(tape.requested[block]);
}

}  // namespace

void expect_same(const Tape& run, const Tape& written) {
  ASSERT_EQ(run.events.size(), written.events.size());
  for (std::size_t i = 0; i < run.events.size(); ++i)
    ASSERT_TRUE(run.events[i].kind == written.events[i].kind &&
                run.events[i].block == written.events[i].block)
        << "event " << i << ": block " << run.events[i].block << " and " << written.events[i].block;
  ASSERT_EQ(run.requested, written.requested);
  for (BlockId block = 0; block < run.why.size(); ++block)
    ASSERT_TRUE(same_why(run.why[block], written.why[block]))
        << "block " << block << ": run " << described(run, block) << ", written "
        << described(written, block);
}

}  // namespace memtape
