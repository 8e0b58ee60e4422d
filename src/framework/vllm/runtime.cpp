// SPDX-License-Identifier: Apache-2.0
#include "framework/vllm/runtime.h"

#include <algorithm>

#include "framework/vllm/layers/rotary.h"

namespace memtape::vllm {
namespace {

Tensor buffer_of(Bytes bytes) { return ghost::empty({bytes}, DType::uint8, Category::workspace); }

}  // namespace

void Workspace::reserve(std::initializer_list<Bytes> parts) {
  constexpr Bytes kAlignment = 256;
  Bytes wanted = 0;
  for (const Bytes part : parts) wanted += (part + kAlignment - 1) / kAlignment * kAlignment;
  if (current_.defined() && current_.nbytes() >= wanted) return;
  current_.reset();
  ghost::session().tape.empty_cache();
  current_ = buffer_of(wanted);
}

void Workspace::keep(const std::string& key, Bytes bytes) {
  if (!kept_.contains(key)) kept_.emplace(key, buffer_of(bytes));
}

void Runtime::use_own_stream() {
  if (has_own_stream_ || tp() > 1) return;
  has_own_stream_ = true;
  ghost::Session& session = ghost::session();
  session.stream = 1;
  // cuBLAS takes a workspace on each stream; those of the old one stay.
  for (Tensor& held : session.cublas_workspaces) {
    if (held.defined()) kept.push_back(held);
    held.reset();
  }
}

Tensor Weights::get(std::string_view name) const {
  for (const auto& parameter : place_.scope().node().parameters)
    if (parameter.name == name) return parameter.tensor;
  return {};
}

void Weights::replace(std::string_view name, const Tensor& tensor) {
  ghost::session().set_category(tensor, Category::parameter);
  for (auto& parameter : place_.scope().node().parameters)
    if (parameter.name == name) {
      parameter.tensor = tensor;
      return;
    }
  place_.scope().node().parameters.push_back({std::string(name), tensor});
}

void Weights::drop(std::string_view name) {
  std::erase_if(place_.scope().node().parameters,
                [&](const auto& parameter) { return parameter.name == name; });
}

}  // namespace memtape::vllm
