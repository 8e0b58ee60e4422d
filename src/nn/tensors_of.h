// SPDX-License-Identifier: Apache-2.0
// The tensors inside an argument or result of a module: a tensor, a tuple or list of things that
// hold tensors, or a struct with two or three such fields (what torch's _apply_to_tensors and
// tree_flatten reach).
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "ghost/tensor.h"

namespace memtape::nn {

namespace detail {

/// Stands for any field that holds tensors.
struct AnyField {
  operator ghost::Tensor() const;
  operator std::pair<ghost::Tensor, ghost::Tensor>() const;
};

template <class T, class... Fields>
concept MadeOf = std::is_aggregate_v<T> && requires { T{Fields{}...}; };
template <class T>
concept StructOfThree =
    MadeOf<T, AnyField, AnyField, AnyField> && !MadeOf<T, AnyField, AnyField, AnyField, AnyField>;
template <class T>
concept StructOfTwo = MadeOf<T, AnyField, AnyField> && !MadeOf<T, AnyField, AnyField, AnyField>;

template <class T>
struct Tensors : std::bool_constant<StructOfTwo<T> || StructOfThree<T>> {};
template <>
struct Tensors<ghost::Tensor> : std::true_type {};
template <class... T>
struct Tensors<std::tuple<T...>> : std::bool_constant<(Tensors<T>::value && ...)> {};
template <class A, class B>
struct Tensors<std::pair<A, B>> : std::bool_constant<Tensors<A>::value && Tensors<B>::value> {};
template <class T>
struct Tensors<std::vector<T>> : Tensors<T> {};

}  // namespace detail

template <class T>
concept HoldsTensors = detail::Tensors<T>::value;

/// Calls visit(tensor) for each tensor, in order.
template <HoldsTensors T, class Visit>
void visit_tensors(T& value, const Visit& visit) {
  const auto visit_all = [&visit](auto&... parts) { (visit_tensors(parts, visit), ...); };
  if constexpr (std::is_same_v<T, ghost::Tensor>) {
    visit(value);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::apply(visit_all, value);
  } else if constexpr (requires { value.begin(); }) {
    for (auto& part : value) visit_all(part);
  } else if constexpr (detail::StructOfThree<T>) {
    auto& [a, b, c] = value;
    visit_all(a, b, c);
  } else {
    auto& [a, b] = value;
    visit_all(a, b);
  }
}

}  // namespace memtape::nn
