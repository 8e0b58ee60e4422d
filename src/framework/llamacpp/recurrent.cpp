// SPDX-License-Identifier: Apache-2.0
// The states of recurrent layers (llama-graph.cpp, build_rs; llama-memory-recurrent.cpp).
#include "framework/llamacpp/graph_builder.h"

namespace memtape::llamacpp {

RecurrentInputs GraphBuilder::input_recurrent() {
  const std::int64_t rows = job_.caches.state_rows;
  Tensor* copy = g.input(ggml::Type::i32, {rows, 1, 1, 1});
  RecurrentInputs in;
  in.main = g.view_1d(copy, n_seqs, 0);
  in.extra = g.view_1d(copy, rows - n_seqs, n_seqs * copy->nb[0]);
  return in;
}

void GraphBuilder::clear_first_state(Tensor* states, std::int64_t size) {
  g.expand(g.scale_inplace(g.view_1d(states, size, 0)));
}

/// Those that the batch does not change.
void GraphBuilder::copy_extra_states(const RecurrentInputs& in, Tensor* states, Tensor* all,
                                     std::int64_t size) {
  Tensor* extra = g.get_rows(states, in.extra);
  const std::int64_t rows = job_.caches.state_rows - n_seqs;
  Tensor* to = g.view_2d(all, {size, rows, 1, 1}, all->nb[1], n_seqs * all->nb[1]);
  g.expand(g.cpy(extra, to));
}

Tensor* GraphBuilder::states_of(const RecurrentInputs& in, Tensor* all, std::int64_t size) {
  Tensor* states = g.reshape(all, {size, all->ne[1], 1, 1});
  clear_first_state(states, size);
  Tensor* taken = g.get_rows(states, in.main);
  g.expand(taken);
  copy_extra_states(in, states, all, size);
  return taken;
}

Tensor* GraphBuilder::scan_of(const RecurrentInputs& in, Tensor* all, StateScan scan) {
  const std::int64_t size = all->ne[0];
  Tensor* states = g.reshape(all, {size, all->ne[1], 1, 1});
  clear_first_state(states, size);
  scan.scan.state = g.reshape(states, scan.shape);
  scan.scan.ids = in.main;
  Tensor* taken = g.ssm_scan(scan.scan);
  g.expand(taken);
  copy_extra_states(in, states, all, size);
  return taken;
}

}  // namespace memtape::llamacpp
