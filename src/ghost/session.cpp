// SPDX-License-Identifier: Apache-2.0
#include "ghost/session.h"

#include <algorithm>
#include <limits>

#include "ghost/autograd/equal_layers.h"
#include "ghost/own_limits.h"
#include "ghost/trace.h"

namespace memtape::ghost {
namespace {

/// Larger than any memory there is, small enough that sums of many stay within 64 bits.
constexpr Bytes kAbsurd = Bytes{1} << 52;

/// Eight micro-batches of 48 layers of 128 experts that run one after the other, each with adapters,
/// make half of this (Qwen3-30B-A3B before transformers 5); beyond it, memory of our own
/// would run out.
constexpr std::size_t kMostBlocks = 40'000'000;

DisplayShape display(const Dims& sizes) {
  DisplayShape shape;
  const int skipped = std::max(0, sizes.rank() - static_cast<int>(DisplayShape::kMaxRank));
  for (int i = skipped; i < sizes.rank(); ++i)
    shape.dims[shape.rank++] = static_cast<std::uint32_t>(
        std::min<std::int64_t>(sizes[i], std::numeric_limits<std::uint32_t>::max()));
  return shape;
}

/// What a block is for, as far as its birth tells: the rest is found when autograd keeps it (Saved)
/// or a leaf takes it as .grad.
Category category_at_birth(const Session& s, Category given) {
  if (given != Category::unknown) return given;
  if (s.phase == Phase::backward && s.node[0] != '\0') return Category::autograd_detail;
  return Category::temporary;
}

}  // namespace

constinit thread_local Session* current_session = nullptr;

Session::Session(DeviceTraits traits, const Release& release)
    : device(traits), packages(release), outer_(current_session) {
  current_session = this;
}

Session::~Session() {
  equal_layers.reset();
  autocast.cache.clear();
  pending_collectives.clear();
  for (Tensor& workspace : cublas_workspaces) workspace.reset();
  for (Tensor& workspace : cublaslt_workspaces) workspace.reset();
  current_session = outer_;
}

Ptr<Storage> Session::allocate(Bytes bytes, Category category, DType dtype, const Dims& shape) {
  if (bytes == 0 || skipping || on_host) return {};
  if (bytes < 0 || bytes > kAbsurd) {
    fail({ErrorKind::bad_input, "a tensor would take more than 4 PiB", op,
          "check the sizes of the model and of the batch"});
    return {};
  }
  if (!has_room(1)) return {};
  auto* storage = new (Pool::take(sizeof(Storage))) Storage;
  storage->stream = stream;
  storage->block = tape.alloc(bytes, stream,
                              {.op = op,
                               .node = node,
                               .scope = scope,
                               .category = category_at_birth(*this, category),
                               .phase = phase,
                               .dtype = dtype,
                               .role = role,
                               .shape = display(shape)});
  if (Trace* const trace = Trace::current()) trace->made(storage->block);
  return Ptr<Storage>(storage);
}

bool Session::has_room(std::size_t blocks) {
  if (tape.requested.size() + blocks <= kMostBlocks) return true;
  fail({ErrorKind::bad_input, std::string(kTooManyAllocations), "",
        "fewer layers or a smaller step"});
  return false;
}

void Session::refill(Storage& storage, Bytes bytes) {
  const Why reason = tape.why[storage.block];
  const Ptr<Storage> fresh = allocate(bytes, reason.category, reason.dtype, {});
  if (!fresh) return;
  Why why = tape.why[fresh->block];
  why.shape = reason.shape;
  why.scope = reason.scope;
  tape.why.set(fresh->block, why);
  storage.block = fresh->block;
  storage.stream = fresh->stream;
  storage.is_empty = false;
  fresh->is_empty = true;  // its block has moved
}

void Session::release(Storage& storage) {
  if (storage.is_empty) return;
  if (!finished) tape.free(storage.block, storage.stream);
  storage.is_empty = true;
}

void Session::record_stream(const Tensor& tensor, StreamId user) {
  const Ptr<Storage>& storage = tensor.impl().storage;
  if (!storage || storage->is_empty || storage->stream == user) return;
  tape.events.push_back({EventKind::record_stream, user, storage->block});
}

void Session::set_category(const Tensor& tensor, Category category) {
  if (tensor.impl().storage) tape.why.set_category(tensor.impl().storage->block, category);
}

void Session::mark(Phase next, int step, int micro_batch, int stage) {
  phase = next;
  tape.mark({next, step, micro_batch, stage});
}

void destroy(Storage* storage) {
  if (!current_session->finished && !storage->is_empty)
    current_session->tape.free(storage->block, storage->stream);
  Pool::give(storage, sizeof(Storage));
}

Tensor empty_strided(const Dims& sizes, const Dims& strides, DType dtype, Category category) {
  auto* impl = make_impl();
  impl->dtype = dtype;
  impl->sizes = sizes;
  impl->strides = strides;
  const std::int64_t count = numel(sizes);
  const bool fits = count <= std::numeric_limits<std::int64_t>::max() / 64;
  impl->storage = session().allocate(fits ? bytes_of(dtype, count) : -1, category, dtype, sizes);
  return Tensor(Ptr<TensorImpl>(impl));
}

Tensor empty(const Dims& sizes, DType dtype, Category category) {
  return empty_strided(sizes, contiguous_strides(sizes), dtype, category);
}

}  // namespace memtape::ghost
