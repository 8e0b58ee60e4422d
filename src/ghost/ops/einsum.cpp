// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/einsum.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ghost/autocast.h"
#include "ghost/ops/matmul.h"
#include "ghost/session.h"
#include "release/product_changes.h"

namespace memtape::ghost {
namespace {

/// What a dimension is to the product, by which operands have it: batch, row, column, or summed.
enum class LetterRole { batch, row, column, summed };

struct Equation {
  std::string_view left, right, out;
  std::string all;  ///< out, and what is summed behind it in the order of the letters
};

Equation parse(std::string_view equation) {
  const std::size_t comma = equation.find(','), arrow = equation.find("->");
  Equation e{.left = equation.substr(0, comma),
             .right = equation.substr(comma + 1, arrow - comma - 1),
             .out = equation.substr(arrow + 2),
             .all = {}};
  std::string summed;
  for (const std::string_view labels : {e.left, e.right})
    for (const char label : labels)
      if (e.out.find(label) == std::string_view::npos && summed.find(label) == std::string::npos)
        summed.push_back(label);
  std::ranges::sort(summed);
  e.all = std::string(e.out) + summed;
  return e;
}

/// The operand with a dimension for every label of the equation, in their order.
Tensor aligned(Tensor operand, std::string_view labels, std::string_view all) {
  Dims order;
  int missing = static_cast<int>(labels.size());
  for (const char label : all) {
    const std::size_t at = labels.find(label);
    if (at == std::string_view::npos) operand = operand.unsqueeze(missing);
    order.push_back(at == std::string_view::npos ? missing++ : static_cast<int>(at));
  }
  return operand.permute(order);
}

/// The dimensions of one role, and how many elements they make together.
struct Group {
  Dims dims;
  std::int64_t size = 1;
};

Group group_of(LetterRole role, const Tensor& left, const Tensor& right, int out_rank) {
  Group group;
  for (int d = 0; d < left.sizes().rank(); ++d) {
    const bool in_left = left.size(d) != 1, in_right = right.size(d) != 1;
    const LetterRole found = d >= out_rank         ? LetterRole::summed
                             : in_left && in_right ? LetterRole::batch
                             : in_left             ? LetterRole::row
                                                   : LetterRole::column;
    if (found != role) continue;
    group.dims.push_back(d);
    group.size *= (role == LetterRole::column ? right : left).size(d);
  }
  return group;
}

Dims joined(std::initializer_list<const Dims*> parts) {
  Dims all;
  for (const Dims* part : parts)
    for (const std::int64_t d : *part) all.push_back(d);
  return all;
}

/// sumproduct_pair: of two operands whose own dimensions stand the other way round in the result,
/// the right one goes first since kEinsumSwapsOperands.
bool swaps_operands(const Group& rows, const Group& columns) {
  return ghost::has(changes::kEinsumSwapsOperands) && rows.dims.rank() > 0 &&
         columns.dims.rank() > 0 && columns.dims[-1] < rows.dims[0];
}

}  // namespace

Tensor einsum(std::string_view equation, const Tensor& left, const Tensor& right) {
  const Equation e = parse(equation);
  const int out_rank = static_cast<int>(e.out.size());
  const Autocasted cast_left(left, CastPolicy::lower_precision),
      cast_right(right, CastPolicy::lower_precision);
  Tensor a = aligned(*cast_left, e.left, e.all), b = aligned(*cast_right, e.right, e.all);
  const Group batch = group_of(LetterRole::batch, a, b, out_rank),
              summed = group_of(LetterRole::summed, a, b, out_rank);
  Group rows = group_of(LetterRole::row, a, b, out_rank),
        columns = group_of(LetterRole::column, a, b, out_rank);
  if (summed.size == 1) {  // nothing to sum: a product of elements, its last dimensions of one
    Dims sizes;
    for (int d = 0; d < out_rank; ++d) sizes.push_back(std::max(a.size(d), b.size(d)));
    return a.mul(b).view(sizes);
  }
  if (swaps_operands(rows, columns)) {
    std::swap(a, b);
    std::swap(rows, columns);
  }
  const Dims order = joined({&batch.dims, &rows.dims, &summed.dims, &columns.dims});
  Dims sizes, back = Dims::filled(order.rank(), 0);
  for (int i = 0; i < order.rank(); ++i) {
    const int d = static_cast<int>(order[i]);
    sizes.push_back(d >= out_rank ? 1 : std::max(a.size(d), b.size(d)));
    back[d] = i;
  }
  a = a.permute(order).reshape({batch.size, rows.size, summed.size});
  b = b.permute(joined({&batch.dims, &summed.dims, &columns.dims, &rows.dims}))
          .reshape({batch.size, summed.size, columns.size});
  const Tensor result = bmm(a, b).view(sizes).permute(back);
  Dims out_sizes = result.sizes();
  while (out_sizes.rank() > out_rank) out_sizes.pop_back();
  return result.view(out_sizes);
}

}  // namespace memtape::ghost
