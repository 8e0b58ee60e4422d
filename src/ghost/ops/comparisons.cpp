// SPDX-License-Identifier: Apache-2.0
#include "ghost/ops/comparisons.h"

#include "ghost/autograd/node.h"
#include "ghost/ops/creation.h"
#include "ghost/ops/iterator.h"
#include "ghost/ops/unary.h"

namespace memtape::ghost {
namespace {

Tensor compared(const char* name, const In& self) {
  Op op(name, {&self});
  return empty_like(*self, DType::boolean);
}

Tensor compared(const char* name, const In& self, const In& other) {
  Op op(name, {&self, &other});
  return pointwise_output({&*self, &*other}, DType::boolean);
}

Tensor bitwise(const char* name, const In& self) {
  Op op(name, {&self});
  return empty_like(*self, self->dtype());
}

}  // namespace

Tensor eq(const In& self, double) { return compared("eq", self); }
Tensor ne(const In& self, double) { return compared("ne", self); }
Tensor lt(const In& self, double) { return compared("lt", self); }
Tensor le(const In& self, double) { return compared("le", self); }
Tensor gt(const In& self, double) { return compared("gt", self); }
Tensor ge(const In& self, double) { return compared("ge", self); }

Tensor eq(const In& self, const In& other) { return compared("eq", self, other); }
Tensor ne(const In& self, const In& other) { return compared("ne", self, other); }
Tensor lt(const In& self, const In& other) { return compared("lt", self, other); }
Tensor le(const In& self, const In& other) { return compared("le", self, other); }
Tensor gt(const In& self, const In& other) { return compared("gt", self, other); }
Tensor ge(const In& self, const In& other) { return compared("ge", self, other); }

Tensor bitwise_and(const In& self, const In& other) { return compared("bitwise_and", self, other); }
Tensor bitwise_or(const In& self, const In& other) { return compared("bitwise_or", self, other); }
Tensor bitwise_xor(const In& self, const In& other) { return compared("bitwise_xor", self, other); }
Tensor logical_and(const In& self, const In& other) { return compared("logical_and", self, other); }
Tensor logical_or(const In& self, const In& other) { return compared("logical_or", self, other); }

Tensor bitwise_and(const In& self, bool) { return bitwise("bitwise_and", self); }
Tensor bitwise_or(const In& self, bool) { return bitwise("bitwise_or", self); }
Tensor bitwise_not(const In& self) { return bitwise("bitwise_not", self); }
Tensor logical_not(const In& self) { return compared("logical_not", self); }

Tensor isnan(const In& self) { return compared("ne", self); }
Tensor isneginf(const In& self) { return compared("isneginf", self); }

Tensor isinf(const In& self) {
  Op op("isinf", {&self});
  const GradMode below_autograd(false);
  const Tensor magnitude = abs(*self);
  return eq(magnitude, kInfinity);
}

}  // namespace memtape::ghost
