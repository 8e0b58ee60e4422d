// SPDX-License-Identifier: Apache-2.0
#include "ghost/tensor_list.h"

#include <vector>

#include <gtest/gtest.h>

#include "ghost/ops/creation.h"
#include "ghost/ops/foreach.h"
#include "ghost/session.h"

namespace memtape::ghost {
namespace {

/// The blocks that are freed from an event on.
std::vector<BlockId> freed_from(const Session& session, std::size_t event) {
  std::vector<BlockId> freed;
  for (; event < session.tape.events.size(); ++event)
    if (session.tape.events[event].kind == EventKind::free)
      freed.push_back(session.tape.events[event].block);
  return freed;
}

// tests/truth/torch_traces/small-foreach.meta-llama__Llama-3.2-1B.tape frees the 20 results of
// _foreach_sqrt in this order.
TEST(TensorList, FreesFromTheLastToTheFirst) {
  Session session{DeviceTraits{}};
  const TensorList states{empty({64}, DType::float32), empty({128}, DType::float32),
                          empty({32}, DType::float32)};
  TensorList roots = foreach_like("_foreach_sqrt", states);
  const std::vector<BlockId> expected{roots[2].impl().storage->block,
                                      roots[1].impl().storage->block,
                                      roots[0].impl().storage->block};
  std::size_t before = session.tape.events.size();
  roots = foreach_like("_foreach_sqrt", states);
  EXPECT_EQ(freed_from(session, before), expected) << "by assignment";
  before = session.tape.events.size();
  {
    const TensorList gone = std::move(roots);
  }
  EXPECT_EQ(freed_from(session, before),
            (std::vector<BlockId>{expected[0] + 3, expected[1] + 3, expected[2] + 3}))
      << "by leaving the scope";
}

}  // namespace
}  // namespace memtape::ghost
