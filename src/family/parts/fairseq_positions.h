// SPDX-License-Identifier: Apache-2.0
// Positions as fairseq's models make them; transformers 5.17 has copies of that code. They are
// counted over the tokens that are not padding (models/roberta/modeling_roberta.py,
// create_position_ids_from_input_ids), and looked up in a table of sines
// (models/m2m_100/modeling_m2m_100.py, models/xglm/modeling_xglm.py, get_embedding).
#pragma once

#include "family/pretrained.h"

namespace memtape::family {

/// Whether the length of a cache is added to the positions, even if it is 0.
enum class PastLength { added, left_out };

/// [B, S] int64.
Tensor create_position_ids_from_input_ids(const Tensor& input_ids,
                                          PastLength past = PastLength::added);

/// [rows, dim], float32 on the way to the model's dtype.
Tensor sinusoidal_table(std::int64_t rows, std::int64_t dim, DType dtype);

/// make_weights in forward: a table of more rows, which the host makes, in the place of `table`, the
/// first buffer of `node`.
void grow_table(nn::ModuleNode& node, Tensor& table, std::int64_t rows);

/// The rows [B, S, D] of a table.
Tensor select_positions(const Tensor& table, const Tensor& position_ids);

}  // namespace memtape::family
