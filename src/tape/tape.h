// SPDX-License-Identifier: Apache-2.0
// Tape: what a program does to GPU memory, as an ordered list of events, and why each block exists.
//
//     events   + 0   + 1   + 2   - 1   |forward   + 3   - 2  ...
//     blocks     0: 1.0 GiB parameter model.embed_tokens.weight     1: ...
//
// Invariants: block ids count up from 0 in order of their alloc event and are never reused; a block
// is freed at most once, after its alloc. A tape knows requested sizes only: rounding and addresses
// are the allocator's business.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "tape/category.h"
#include "tape/reasons.h"

namespace memtape {

using StreamId = std::uint8_t;  ///< 0 is the program's main stream

enum class EventKind : std::uint8_t {
  alloc,          ///< `block` comes to life on `stream`
  free,           ///< the last reference to `block` is gone
  record_stream,  ///< `block` is also used on `stream`: its reuse waits for that stream
  empty_cache,    ///< torch.cuda.empty_cache(): cached segments go back to the driver
  mark,           ///< no memory: `block` is an index into Tape::marks
};

struct Event {
  EventKind kind;
  StreamId stream;
  BlockId block;
};

/// A boundary in time: from here on the program is in step `step` (counted from 0), micro-batch
/// `micro_batch` and phase `phase`, and, in a pipeline, in stage `stage`.
struct Mark {
  Phase phase = Phase::init;
  std::int32_t step = -1;  ///< -1 while the model is being built
  std::int32_t micro_batch = 0;
  std::int32_t stage = 0;
};

/// The module tree by name: scope 0 is the root "", every other has a parent with a smaller id.
class ScopeTree {
 public:
  ScopeTree() : scopes_{{"", 0}} {}

  ScopeId add(ScopeId parent, std::string name) {
    scopes_.push_back({std::move(name), parent});
    return static_cast<ScopeId>(scopes_.size() - 1);
  }
  /// "model.layers.3.mlp.gate_proj"; "" for the root.
  std::string path(ScopeId id) const;
  std::string_view last_name(ScopeId id) const { return scopes_[id].name; }
  ScopeId parent(ScopeId id) const { return scopes_[id].parent; }
  std::size_t size() const { return scopes_.size(); }

 private:
  struct Scope {
    std::string name;
    ScopeId parent;
  };
  std::vector<Scope> scopes_;
};

struct Tape {
  std::vector<Event> events;
  std::vector<Bytes> requested;  ///< by BlockId
  Reasons why;                   ///< by BlockId
  std::vector<Mark> marks;       ///< by the `block` of mark events
  ScopeTree scopes;

  BlockId alloc(Bytes bytes, StreamId stream, const Why& reason) {
    const auto id = static_cast<BlockId>(requested.size());
    requested.push_back(bytes);
    why.add(reason);
    events.push_back({EventKind::alloc, stream, id});
    return id;
  }
  /// A block of the size of `other`, which exists for the same reason.
  BlockId alloc_again(BlockId other, StreamId stream) {
    const auto id = static_cast<BlockId>(requested.size());
    requested.push_back(requested[other]);
    why.add(why.share(other), why[other].scope);
    events.push_back({EventKind::alloc, stream, id});
    return id;
  }
  void free(BlockId id, StreamId stream = 0) { events.push_back({EventKind::free, stream, id}); }
  /// torch.cuda.empty_cache()
  void empty_cache() { events.push_back({EventKind::empty_cache, 0, 0}); }
  void mark(const Mark& m) {
    events.push_back({EventKind::mark, 0, static_cast<BlockId>(marks.size())});
    marks.push_back(m);
  }
};

}  // namespace memtape
