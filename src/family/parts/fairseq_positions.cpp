// SPDX-License-Identifier: Apache-2.0
#include "family/parts/fairseq_positions.h"

#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/comparisons.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/reductions.h"
#include "ghost/ops/unary.h"

namespace memtape::family {

Tensor create_position_ids_from_input_ids(const Tensor& input_ids, PastLength past) {
  const Tensor mask = ghost::ne(input_ids, ghost::kTokenId).to(DType::int32);
  const Tensor incremental_indices = past == PastLength::added
                                         ? ghost::cumsum(mask).to(DType::int32).add(0).mul(mask)
                                         : ghost::cumsum(mask).to(DType::int32).mul(mask);
  return incremental_indices.to(DType::int64).add(1);
}

Tensor sinusoidal_table(std::int64_t rows, std::int64_t dim, DType dtype) {
  Tensor emb = ghost::arange(dim / 2, DType::int64).to_float().mul(-1.0);
  emb = ghost::exp(std::move(emb));
  {
    Tensor positions = ghost::arange(rows, DType::int64).to_float();
    emb = std::move(positions).unsqueeze(1).mul(emb.unsqueeze(0));
  }
  {
    const Tensor sin = ghost::sin(emb), cos = ghost::cos(emb);
    emb = ghost::cat({sin, cos}, 1);
  }
  return emb.to(dtype);
}

void grow_table(nn::ModuleNode& node, Tensor& table, std::int64_t rows) {
  const ghost::Op op("to", {});
  table = ghost::empty({rows, table.size(1)}, table.dtype());
  node.buffers.front().tensor = table;
  ghost::session().set_category(table, Category::buffer);
}

Tensor select_positions(const Tensor& table, const Tensor& position_ids) {
  return ghost::index_select(table, position_ids.view({-1}))
      .view(position_ids.sizes().with(table.size(1)));
}

}  // namespace memtape::family
