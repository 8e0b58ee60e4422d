// SPDX-License-Identifier: Apache-2.0
#include "family/parts/rotary_tables.h"

#include <utility>

#include "ghost/autograd/node.h"
#include "ghost/ops/copies.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/indexing.h"
#include "ghost/ops/joins.h"
#include "ghost/ops/pointwise.h"
#include "ghost/ops/unary.h"
#include "ghost/ops/views.h"
#include "ghost/session.h"

namespace memtape::family {
namespace {

/// self.register_buffer(name, tensor), which may stand there already.
void set_buffer(const nn::Scope& scope, std::string_view name, const Tensor& tensor) {
  for (nn::ModuleNode::Named& buffer : scope.node().buffers)
    if (buffer.name == name) {
      buffer.tensor = tensor;
      ghost::session().set_category(tensor, Category::buffer);
      return;
    }
  scope.buffer(name, tensor);
}

}  // namespace

CosSin add_rotary_tables(const nn::Scope& scope, const RopeParameters& rope, const Tensor& inv_freq,
                         std::int64_t positions, DType dtype) {
  const ghost::ScopeGuard guard(scope.node().scope);
  const ghost::GradMode no_grad(false);
  CosSin tables;
  if (rope.dim == 0) return tables;
  // _set_cos_sin_cache holds all three to its end and lets go of them in the order of their making.
  Tensor emb, freqs, t;
  t = ghost::arange(positions, DType::int64).to_float();
  freqs = t.unsqueeze(-1).mul(inv_freq);
  emb = ghost::cat({freqs, freqs}, -1);
  tables.first = ghost::cos(emb).to(dtype);
  set_buffer(scope, "cos_cached", tables.first);
  tables.second = ghost::sin(emb).to(dtype);
  set_buffer(scope, "sin_cached", tables.second);
  return tables;
}

RotaryTables::RotaryTables(const nn::Scope& scope, const RopeParameters& rope,
                           std::int64_t positions)
    : Module(scope), scope_(scope), rope_(rope) {
  const ghost::ScopeGuard guard(node().scope);
  inv_freq_ = compute_inv_freq(rope_);
  scope.buffer("inv_freq", inv_freq_);
  tables_ = add_rotary_tables(scope, rope_, inv_freq_, positions, scope.dtype());
}

CosSin RotaryTables::forward(const Tensor& values) {
  const std::int64_t seq_len = values.size(-2);
  if (seq_len > tables_.first.size(0))
    tables_ = add_rotary_tables(scope_, rope_, inv_freq_, seq_len, values.dtype());
  Tensor cos = tables_.first.slice(0, 0, seq_len).to(values.dtype());
  return {std::move(cos), tables_.second.slice(0, 0, seq_len).to(values.dtype())};
}

CosSin look_up(const CosSin& rows, const Tensor& position_ids) {
  Tensor cos = ghost::index(rows.first, position_ids);
  return {std::move(cos), ghost::index(rows.second, position_ids)};
}

}  // namespace memtape::family
