// SPDX-License-Identifier: Apache-2.0
// Session: everything a ghost run knows while it runs: the tape it writes, the device it pretends
// to run on, and what PyTorch keeps in thread-local state (gradient mode, autocast, the current
// module, cuBLAS workspaces).
//
// One session is current per thread; ops find it by session(). The core never throws: the first
// thing that goes wrong is kept in `error`, later ops go on with empty tensors, and the caller asks
// once at the end.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ghost/dims.h"
#include "ghost/slots.h"
#include "ghost/tensor.h"
#include "release/release.h"
#include "tape/tape.h"

namespace memtape::ghost {

/// What kernels' host code asks the device for (cudaGetDeviceProperties).
struct DeviceTraits {
  int major = 8, minor = 0;
  int sm_count = 108;
  /// What the allocator can have of the device's memory (cudaMemGetInfo); not set: without limit.
  std::optional<Bytes> memory = std::nullopt;

  /// maxThreadsPerMultiProcessor, by the CUDA programming guide's table of compute capabilities.
  int max_threads_per_sm() const {
    if (major == 7 && minor == 5) return 1024;
    return (major == 8 && minor > 0) || major == 12 ? 1536 : 2048;
  }
  bool at_least(int want_major, int want_minor = 0) const {
    return major > want_major || (major == want_major && minor >= want_minor);
  }
};

/// torch.autocast's state: which low dtype, and the casts of leaf weights kept until the outermost
/// context ends.
struct Autocast {
  bool enabled = false;
  int nesting = 0;
  DType dtype = DType::bfloat16;
  struct Cached {
    Ptr<TensorImpl> weight, cast;
  };
  std::vector<Cached> cache;
};

class Saved;
class SavedTensorHooks;
class EqualLayers;
void destroy(EqualLayers* layers);

class Session {
 public:
  explicit Session(DeviceTraits device, const Release& release = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Tape tape;
  DeviceTraits device;
  const Release packages;  ///< the releases whose code runs
  Autocast autocast;
  Slots slots;  ///< what scopes above have put in force (ghost/given.h)
  std::optional<Error> error;
  SavedTensorHooks* hooks = nullptr;   ///< torch.autograd.graph.saved_tensors_hooks in force
  std::vector<const Saved*> unpacked;  ///< by hooks, for the node that runs

  // Where the program is: kept in each block's Why.
  ScopeId scope = 0;
  Phase phase = Phase::init;
  const char* op = "";
  Role role = Role::none;  ///< of what the running op makes
  const char* node = "";
  const char* keeper = "";  ///< the autograd node made last: what is saved now is saved by it
  StreamId stream = 0;

  /// The function with which a library (Liger) replaces modeling_*.apply_rotary_pos_emb.
  std::pair<Tensor, Tensor> (*rotary_kernel)(const Tensor& q, const Tensor& k, const Tensor& cos,
                                             const Tensor& sin) = nullptr;

  bool grad_enabled = true;
  bool training = true;        ///< model.train(); in model.eval() nothing is dropped out
  bool on_host = false;        ///< tensors made meanwhile live in host memory: they have no storage
  bool wraps_tensors = false;  ///< tensors are of a subclass meanwhile (DTensor)
  bool skipping = false;  ///< a recompute that already has all it needs: ops make empty tensors
                          ///< until it returns
  std::uint64_t next_sequence = 0;
  std::uint32_t next_backward = 0;
  /// Which autograd.grad runs: such a pass computes gradients only on the way to its inputs. It is
  /// 0 in a pass of backward(), which computes all.
  std::uint32_t selective_pass = 0;
  bool in_backward = false;  ///< on the autograd engine's device thread
  // Equal layers are written down instead of run (autograd/equal_layers.h).
  bool repeats_layers = false;       ///< whether that is allowed
  bool layers_differ = false;        ///< set if they turned out to differ: the run is void
  std::uint64_t layer_boundary = 0;  ///< equal_layers hears of the first node before this one
  Ptr<EqualLayers> equal_layers;     ///< those that wait for their backward

  bool finished = false;  ///< the program has ended: what is torn down now writes no events

  /// A block of `bytes` on the current stream; nothing for zero bytes.
  Ptr<Storage> allocate(Bytes bytes, Category category, DType dtype, const Dims& shape);
  /// Whether the tape may grow by that many blocks. If not, the run fails.
  bool has_room(std::size_t blocks);
  /// Gives an emptied storage a new block of `bytes` on the current stream (resize_ of
  /// UntypedStorage).
  void refill(Storage& storage, Bytes bytes);
  /// Frees the block of a storage; its holders keep an empty storage.
  void release(Storage& storage);
  /// Makes a stream beside the main one. Each stream has pools of its own in the allocator.
  StreamId make_stream() { return ++last_stream_; }
  /// tensor.record_stream(stream): its memory waits for that stream once it is freed.
  void record_stream(const Tensor& tensor, StreamId user);
  /// A collective whose result nobody has waited for. The first op that reads `result` waits, and
  /// then the collective's input is freed (torch's AsyncCollectiveTensor).
  struct PendingCollective {
    Ptr<Storage> result;
    Tensor input;
  };
  std::vector<PendingCollective> pending_collectives;
  /// The functions that run when the current backward pass ends (Engine::queue_callback); null
  /// outside one.
  std::vector<std::function<void()>>* final_callbacks = nullptr;
  /// cuBLAS takes its workspace once per (handle, stream); handles belong to threads (see
  /// ops/cublas.h).
  Tensor cublas_workspaces[2];
  Tensor cublaslt_workspaces[2];

  /// Keeps the first failure; from then on ops make empty tensors, so that the rest passes quickly.
  void fail(Error what) {
    if (!error) error = std::move(what);
    skipping = true;
  }
  void set_category(const Tensor& tensor, Category category);
  void mark(Phase next, int step, int micro_batch, int stage = 0);

 private:
  Session* outer_;
  StreamId last_stream_ = 0;
};

/// The session of this thread; constant initialisation lets it be read without a guard, tens of
/// thousands of times a step.
extern constinit thread_local Session* current_session;
inline Session& session() { return *current_session; }
/// Whether the release that runs has that change.
inline bool has(const Change& change) { return session().packages.has(change); }

/// A new tensor of these sizes, packed, on the current stream.
Tensor empty(const Dims& sizes, DType dtype, Category category = Category::unknown);
/// The same with given strides.
Tensor empty_strided(const Dims& sizes, const Dims& strides, DType dtype,
                     Category category = Category::unknown);

/// Gradient mode within a scope, as torch.no_grad() and torch.enable_grad().
class GradMode {
 public:
  explicit GradMode(bool enabled) : before_(session().grad_enabled) {
    session().grad_enabled = enabled;
  }
  ~GradMode() { session().grad_enabled = before_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

/// `with torch.cuda.stream(stream)`: blocks made meanwhile come from that stream's pools.
class StreamGuard {
 public:
  explicit StreamGuard(StreamId stream) : before_(session().stream) { session().stream = stream; }
  ~StreamGuard() { session().stream = before_; }
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  StreamId before_;
};

/// While it lives, tensors are made in host memory.
class HostGuard {
 public:
  explicit HostGuard(bool on_host = true) : before_(session().on_host) {
    session().on_host = on_host;
  }
  ~HostGuard() { session().on_host = before_; }
  HostGuard(const HostGuard&) = delete;
  HostGuard& operator=(const HostGuard&) = delete;

 private:
  bool before_;
};

/// The module whose code runs: blocks made meanwhile carry its path.
class ScopeGuard {
 public:
  explicit ScopeGuard(ScopeId scope) : before_(session().scope) { session().scope = scope; }
  ~ScopeGuard() { session().scope = before_; }
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  ScopeId before_;
};

}  // namespace memtape::ghost
