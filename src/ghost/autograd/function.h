// SPDX-License-Identifier: Apache-2.0
// torch.autograd.Function.apply (torch/csrc/autograd/python_function.cpp): the node is made before
// forward runs, forward runs without gradient mode, and its outputs get the node as their history.
// A custom function is written in three lines around its forward:
//
//     const auto node = function_node<MyBackward>({&x, &weight}, arguments...);
//     { const GradMode no_grad(false); out = ...; }
//     if (node) set_history(out, node);
//
// Ops of torch's own take their node from Op (ghost/autograd/node.h) instead, by the same rule.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "ghost/autograd/node.h"

namespace memtape::ghost {

/// The node of a custom function over `inputs`; null if no gradient is wanted.
template <class N, class... Args>
Ptr<N> function_node(std::span<const Tensor> inputs, Args&&... args) {
  if (!session().grad_enabled || session().skipping) return {};
  bool wanted = false;
  for (const Tensor& input : inputs) wanted |= input.defined() && input.requires_grad();
  if (!wanted) return {};
  Ptr<N> node = make_node<N>(std::forward<Args>(args)...);
  for (const Tensor& input : inputs) node->edges.push_back(gradient_edge(input));
  return node;
}
template <class N, class... Args>
Ptr<N> function_node(std::initializer_list<const Tensor*> inputs, Args&&... args) {
  if (!session().grad_enabled || session().skipping) return {};
  bool wanted = false;
  for (const Tensor* input : inputs) wanted |= input->defined() && input->requires_grad();
  if (!wanted) return {};
  Ptr<N> node = make_node<N>(std::forward<Args>(args)...);
  for (const Tensor* input : inputs) node->edges.push_back(gradient_edge(*input));
  return node;
}

}  // namespace memtape::ghost
