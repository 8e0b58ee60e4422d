// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/micro_batches.h"

#include <algorithm>
#include <limits>

#include "ghost/autograd/histories.h"
#include "ghost/autograd/node.h"

namespace memtape::ghost {
namespace {

constexpr BlockId kNone = std::numeric_limits<BlockId>::max();

/// The history of a written forward: it holds the input, and is not run.
struct WrittenForward final : Node {
  explicit WrittenForward(const Tensor& input) : Node("WrittenForward") {
    if (input.defined()) edges.push_back(gradient_edge(input));
  }
  ~WrittenForward() override {
    for (Ptr<Storage>& one : outlasting) one.reset();
  }
  void apply(Gradients&, Gradients&) override {}
  void release() override {}

  std::vector<Ptr<Storage>> outlasting;  ///< what goes with the graph, in this order
};

BlockId memory_of(const Tensor& tensor) {
  return tensor.defined() && tensor.impl().storage ? block_of(tensor) : kNone;
}

/// Sizes and dtype.
Tensor pattern_of(const Tensor& tensor) {
  return tensor.defined() ? tensor_over({}, tensor) : Tensor();
}

/// Whether nobody else holds the tensor's memory; the base of a view lives by the view.
bool is_only_holder(const Tensor& tensor) {
  const TensorImpl& impl = tensor.impl();
  const bool has_own_base = impl.base && impl.base->refs == 1 && impl.base->storage == impl.storage;
  return tensor.ptr()->refs == 1 && impl.storage->refs == (has_own_base ? 2 : 1);
}

bool would_go(const Tensor& tensor) {
  return tensor.defined() && tensor.impl().storage && is_only_holder(tensor);
}

bool has_history(const Tensor* kept) { return kept->defined() && kept->impl().grad_fn; }

/// Blocks older than a pass and its forward that it uses on another stream.
std::vector<BlockId> lasting_of(const Tape& tape, const Stretch& pass,
                                const std::optional<Stretch>& forward) {
  std::vector<BlockId> found;
  for (std::size_t at = pass.begin; at < pass.end; ++at) {
    const Event& event = tape.events[at];
    if (event.kind != EventKind::record_stream || pass.has(event.block)) continue;
    if (forward && forward->has(event.block)) continue;
    if (std::ranges::find(found, event.block) == found.end()) found.push_back(event.block);
  }
  return found;
}

/// Blocks of a stretch of which each has gone or is known to be held.
class Accounted {
 public:
  explicit Accounted(const Stretch& stretch) : blocks_(stretch.blocks) {}
  void gone(const StretchShape& shape, BlockOwner owner) {
    for (const ShapedEvent& e : shape)
      if (e.kind == EventKind::free && e.owner == owner) blocks_[e.offset] = true;
  }
  void held(BlockId offset) { blocks_[offset] = true; }
  bool all() const { return std::ranges::find(blocks_, false) == blocks_.end(); }
  /// The others, by their offsets.
  std::vector<BlockId> rest() const {
    std::vector<BlockId> found;
    for (BlockId i = 0; i < blocks_.size(); ++i)
      if (!blocks_[i]) found.push_back(i);
    return found;
  }

 private:
  std::vector<bool> blocks_;
};

}  // namespace

MicroBatches::Neighbour MicroBatches::before() const {
  const bool is_first = forwards_ == step_began_ && std::ranges::any_of(kept_, has_history);
  if (forwards_ == 0 || is_first) return Neighbour::none;
  const bool in_flight =
      std::ranges::any_of(flights_, [this](const Flight& f) { return f.number + 1 == forwards_; });
  return in_flight ? Neighbour::in_flight : Neighbour::done;
}

MicroBatches::Neighbour MicroBatches::after(const Flight& flight) const {
  return flight.number + 1 == forwards_ ? Neighbour::none : Neighbour::done;
}

MicroBatches::Standing MicroBatches::standing(Neighbour neighbour) const {
  Standing now{.neighbour = neighbour, .goes = {}};
  for (const Tensor* kept : kept_) now.goes.push_back(would_go(*kept));
  return now;
}

/// Memory of this pass, of its forward, or the input's.
std::optional<MicroBatches::HeldByGraph> MicroBatches::held_by_graph(const Storage& memory,
                                                                     const Flight* of_backward,
                                                                     const Tensor& input) const {
  const Stretch pass = between(began_, end_of(session().tape));
  if (pass.has(memory.block))
    return HeldByGraph{BlockOwner::stretch, memory.block - pass.first_block, memory.stream};
  if (of_backward && of_backward->forward.has(memory.block))
    return HeldByGraph{BlockOwner::forward, memory.block - of_backward->forward.first_block,
                       memory.stream};
  if (of_backward && memory.block == memory_of(input))
    return HeldByGraph{BlockOwner::input, 0, memory.stream};
  return std::nullopt;
}

/// After a pass that was run. The graph of a forward has no gradients yet. That of a second run in
/// backward holds the gradient of what it was run on, and that itself, if it still has memory.
void MicroBatches::note_graphs(const Flight* of_backward, const Tensor& input,
                               const Tensor& output) {
  std::vector<std::size_t> changed;
  std::vector<Tensor> roots{output};
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (memory_of(*kept_[i]) == kept_before_[i]) continue;
    in_graphs_[i].clear();
    blocks_in_graphs_[i].clear();
    changed.push_back(i);
    roots.push_back(*kept_[i]);
  }
  const OwnOfNodes own(has_keepers_ ? roots : std::vector<Tensor>());
  own_of_nodes_.clear();
  for (const Storage* one : own.held_by(output))
    if (const auto held = held_by_graph(*one, of_backward, input)) own_of_nodes_.push_back(*held);
  for (const std::size_t i : changed) {
    std::vector<const Storage*> memory = own.held_by(*kept_[i]);
    const auto leaves = of_backward ? leaves_in_graph(*kept_[i]) : std::vector<const TensorImpl*>();
    if (leaves.size() == 1 && leaves.front()->grad && leaves.front()->grad->storage) {
      memory.push_back(leaves.front()->grad->storage.get());
      if (const Storage* own_memory = leaves.front()->storage.get();
          own_memory && !own_memory->is_empty)
        memory.push_back(own_memory);
    }
    for (const Storage* one : memory) {
      const auto found = held_by_graph(*one, of_backward, input);
      if (!found) continue;
      in_graphs_[i].push_back(*found);
      blocks_in_graphs_[i].push_back(one->block);
    }
    if (in_graphs_[i].size() == memory.size()) continue;
    in_graphs_[i].clear();
    blocks_in_graphs_[i].clear();
  }
}

void MicroBatches::begin(Neighbour neighbour) {
  began_ = end_of(session().tape);
  standing_ = standing(neighbour);
  kept_before_.clear();
  gradients_before_.clear();
  for (const Tensor* kept : kept_) {
    kept_before_.push_back(memory_of(*kept));
    gradients_before_.push_back(kept->defined() ? memory_of(kept->grad()) : kNone);
  }
  in_graphs_before_ = blocks_in_graphs_;
}

/// Learns in which order the blocks have gone that outlasted the last backward; false if some are
/// still there. Every backward has to leave the same ones.
bool MicroBatches::settle_outlasting() {
  if (!awaited_) return true;
  const std::vector<Event>& events = session().tape.events;
  std::vector<Outlasting> gone;
  for (std::size_t at = awaited_->since; at < events.size(); ++at) {
    if (gone.size() == awaited_->offsets.size()) break;
    const Event& event = events[at];
    if (event.kind != EventKind::free || event.block < awaited_->first_block) continue;
    const BlockId offset = event.block - awaited_->first_block;
    if (std::ranges::binary_search(awaited_->offsets, offset))
      gone.push_back({offset, event.stream});
  }
  if (gone.size() < awaited_->offsets.size()) return false;
  if (outlasting_ && *outlasting_ != gone) session().layers_differ = true;
  outlasting_ = std::move(gone);
  awaited_.reset();
  return true;
}

/// What nodes keep of their own goes in the order that is written for others.
void MicroBatches::check_expected() {
  if (!expected_) return;
  const std::vector<Event>& events = session().tape.events;
  auto from = expected_->blocks.begin();
  for (std::size_t at = expected_->since; at < events.size(); ++at) {
    if (from == expected_->blocks.end()) break;
    if (events[at].kind != EventKind::free) continue;
    const auto gone = std::ranges::find(expected_->blocks, events[at].block);
    if (gone == expected_->blocks.end()) continue;
    if (gone != from) session().layers_differ = true;
    from = gone + 1;
  }
  expected_.reset();
}

std::vector<MicroBatches::Flight>::iterator MicroBatches::flight_of(const Tensor& output) {
  return std::ranges::find(flights_, output.ptr().get(), &Flight::output);
}

bool MicroBatches::is_written(const Tensor& output) const {
  return std::ranges::any_of(
      flights_, [&](const Flight& f) { return f.output == output.ptr().get() && f.is_written; });
}

/// What became of a place whose tensor lay in block `was`; none where it cannot be told.
std::optional<MicroBatches::Left> MicroBatches::left_of(const Tensor& tensor,
                                                        const Stretch& stretch, const Tensor& input,
                                                        std::optional<BlockId> was) const {
  if (tensor.defined() && tensor.ptr() == input.ptr()) return Left{.what = Left::What::input};
  const BlockId block = memory_of(tensor);
  if (block != kNone && stretch.has(block)) {
    const Storage& storage = *tensor.impl().storage;
    if (storage.is_empty) return std::nullopt;
    return Left{.what = Left::What::own,
                .offset = block - stretch.first_block,
                .stream = storage.stream,
                .is_shared = !is_only_holder(tensor),
                .holds_input = reaches(tensor, input)};
  }
  return block == was ? std::optional(Left{}) : std::nullopt;
}

/// Whether of each place's history went what is here taken to go, in this order, if it went at all.
bool MicroBatches::go_in_order(const StretchShape& gone, BlockId first) const {
  std::vector<BlockId> all, went;
  for (const std::vector<BlockId>& blocks : in_graphs_before_)
    all.insert(all.end(), blocks.begin(), blocks.end());
  for (const ShapedEvent& event : gone) {
    if (event.kind != EventKind::free) return false;
    went.push_back(all[event.offset - first]);
  }
  return std::ranges::all_of(in_graphs_before_, [&](const std::vector<BlockId>& blocks) {
    auto from = went.begin();
    for (const BlockId block : blocks) {
      const auto at = std::ranges::find(went, block);
      if (at == went.end()) continue;
      if (at < from) return false;
      from = at;
    }
    return true;
  });
}

/// The gradients of what is kept, which are held from `first` on, go when their place is left, as
/// they do when what is written leaves it: just before its tensor, or that has another holder.
/// False if one is used in another way.
bool MicroBatches::leave_with_gradients(StretchShape& shape, BlockId first) {
  StretchShape left;
  for (std::size_t at = 0; at < shape.size(); ++at) {
    ShapedEvent event = shape[at];
    if (event.owner == BlockOwner::held && event.offset >= first) {
      if (event.kind != EventKind::free) return false;
      event.offset -= first;
      if (at + 1 < shape.size() && shape[at + 1] == event) continue;
    }
    left.push_back(event);
  }
  shape = std::move(left);
  return true;
}

/// The pass that ends now; `forward`: of the micro-batch that it runs backwards.
std::optional<MicroBatches::Model> MicroBatches::model_of(
    const Tensor& input, const std::optional<Stretch>& forward) const {
  const Tape& tape = session().tape;
  Model model;
  model.stretch = between(began_, end_of(tape));
  model.lasting = lasting_of(tape, model.stretch, forward);
  std::vector<BlockId> held = kept_before_;
  held.insert(held.end(), model.lasting.begin(), model.lasting.end());
  const std::size_t of_graphs = held.size();
  for (const std::vector<BlockId>& blocks : in_graphs_before_)
    held.insert(held.end(), blocks.begin(), blocks.end());
  const auto of_gradients = static_cast<BlockId>(held.size());
  held.insert(held.end(), gradients_before_.begin(), gradients_before_.end());
  auto shape = shape_of(tape, model.stretch, {.forward = forward, .held = std::move(held)});
  if (!shape || !leave_with_gradients(*shape, of_gradients)) return std::nullopt;
  StretchShape gone;
  std::erase_if(*shape, [&](const ShapedEvent& e) {
    const bool is_of_graph = e.owner == BlockOwner::held && e.offset >= of_graphs;
    if (is_of_graph) gone.push_back(e);
    return is_of_graph;
  });
  if (!go_in_order(gone, static_cast<BlockId>(of_graphs))) return std::nullopt;
  const auto frees_lasting = [this](const ShapedEvent& e) {
    return e.kind == EventKind::free && e.owner == BlockOwner::held && e.offset >= kept_.size();
  };
  if (std::ranges::any_of(*shape, frees_lasting)) return std::nullopt;
  model.shape = std::move(*shape);
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    auto left = left_of(*kept_[i], model.stretch, input, kept_before_[i]);
    if (!left) return std::nullopt;
    if (left->what == Left::What::own) left->in_graph = in_graphs_[i];
    model.left.push_back(*left);
    model.patterns.push_back(pattern_of(*kept_[i]));
  }
  return model;
}

/// Whether `result` is a tensor of the pass's own, held by `holders` at most.
bool MicroBatches::take_result(Model& model, const Tensor& result, std::uint32_t holders) const {
  model.result = left_of(result, model.stretch, {}, std::nullopt);
  model.result_pattern = pattern_of(result);
  return model.result && model.result->what == Left::What::own && result.ptr()->refs <= holders;
}

std::optional<MicroBatches::Model> MicroBatches::forward_model(const Tensor& input,
                                                               const Tensor& output) const {
  if (!output.defined() || !output.impl().grad_fn) return std::nullopt;
  auto model = model_of(input, std::nullopt);
  if (!model || !take_result(*model, output, 1)) return std::nullopt;
  model->result->is_shared = output.impl().storage->refs > 1;
  model->own_of_nodes = own_of_nodes_;
  return model;
}

std::optional<MicroBatches::Model> MicroBatches::backward_model(const Tensor& input,
                                                                const Flight& flight) {
  auto model = model_of({}, flight.forward);
  if (!model) return std::nullopt;
  if (input.defined() && input.impl().grad) {
    const Tensor gradient = input.grad();
    if (!take_result(*model, gradient, 2) || gradient.impl().storage->refs > 1) return std::nullopt;
    model->result->is_shared = false;
  }
  for (BlockId i = 0; i < flight.forward.blocks; ++i)
    if (const Category now = session().tape.why.category(flight.forward.first_block + i);
        now != flight.categories[i])
      model->recategorised.push_back({i, now});

  Accounted of_forward(flight.forward), own(model->stretch);
  of_forward.gone(flight.model->shape, BlockOwner::stretch);
  of_forward.gone(model->shape, BlockOwner::forward);
  own.gone(model->shape, BlockOwner::stretch);
  for (const Left& left : flight.model->left)
    if (left.what == Left::What::own) of_forward.held(left.offset);
  of_forward.held(flight.model->result->offset);
  for (const HeldByGraph& one : flight.model->own_of_nodes) of_forward.held(one.offset);
  for (const Left& left : model->left) {
    if (left.is_shared) return std::nullopt;
    if (left.what == Left::What::own) own.held(left.offset);
    for (const HeldByGraph& one : left.in_graph) {
      if (one.owner == BlockOwner::stretch) own.held(one.offset);
      if (one.owner == BlockOwner::forward) of_forward.held(one.offset);
    }
  }
  if (model->result) own.held(model->result->offset);
  const bool is_kept = std::ranges::any_of(kept_, has_history);
  const bool outlasts = is_kept && standing_.neighbour != Neighbour::done && !of_forward.all();
  if (!own.all() || outlasts) return std::nullopt;  // what the model keeps holds some of the graph
  awaited_ = {.first_block = flight.forward.first_block,
              .since = model->stretch.end,
              .offsets = of_forward.rest()};
  return model;
}

void MicroBatches::record(std::vector<Record>& records, const Standing& standing,
                          std::optional<Model> model) {
  auto at = std::ranges::find(records, standing, &Record::standing);
  if (at == records.end()) at = records.insert(at, {.standing = standing, .model = {}});
  const bool is_alike = at->model && model && at->model->shape == model->shape &&
                        at->model->lasting == model->lasting && at->model->left == model->left &&
                        at->model->result == model->result &&
                        at->model->recategorised == model->recategorised &&
                        at->model->own_of_nodes == model->own_of_nodes &&
                        allocate_alike(session().tape, at->model->stretch, model->stretch);
  if (at->is_confirmed && !is_alike) session().layers_differ = true;
  at->is_confirmed = is_alike;
  at->model = std::move(model);
}

const MicroBatches::Model* MicroBatches::confirmed(const std::vector<Record>& records,
                                                   const Standing& standing) {
  const auto at = std::ranges::find(records, standing, &Record::standing);
  return at != records.end() && at->is_confirmed ? &*at->model : nullptr;
}

void MicroBatches::end_forward(const Tensor& input, const Tensor& output) {
  const Tape& tape = session().tape;
  note_graphs(nullptr, {}, output);
  Flight flight{.output = output.ptr().get(),
                .number = forwards_++,
                .forward = between(began_, end_of(tape)),
                .model = forward_model(input, output)};
  record(forward_, standing_, flight.model);
  if (!output.defined() || !output.impl().grad_fn) return;
  for (BlockId i = 0; i < flight.forward.blocks; ++i)
    flight.categories.push_back(tape.why.category(flight.forward.first_block + i));
  flights_.push_back(std::move(flight));
}

void MicroBatches::begin_backward(const Tensor& output) {
  check_expected();
  if (!settle_outlasting()) awaited_.reset(), outlasting_.reset();
  const auto flight = flight_of(output);
  begin(flight == flights_.end() ? Neighbour::none : after(*flight));
}

void MicroBatches::end_backward(const Tensor& input, const Tensor& output) {
  const auto flight = flight_of(output);
  if (flight == flights_.end()) return;
  note_graphs(&*flight, input, {});
  if (flight->model) {
    record(backward_, standing_, backward_model(input, *flight));
    expected_ = {.blocks = {}, .since = session().tape.events.size()};
    for (const HeldByGraph& one : flight->model->own_of_nodes)
      expected_->blocks.push_back(flight->forward.first_block + one.offset);
  }
  flights_.erase(flight);
}

/// A block of the micro-batch's forward goes: with the tensors that hold it, or by its event.
void MicroBatches::free_of_forward(const ShapedEvent& event, Flight& flight) const {
  const BlockId block = flight.forward.first_block + event.offset;
  const auto shared =
      std::ranges::find(flight.shared, event.offset, &std::pair<BlockId, Ptr<Storage>>::first);
  const auto kept = std::ranges::find(kept_, block, [](const Tensor* t) { return memory_of(*t); });
  if (shared == flight.shared.end() && kept == kept_.end())
    return session().tape.free(block, event.stream);
  if (shared != flight.shared.end()) shared->second.reset();
  if (kept != kept_.end()) (*kept)->reset();
}

/// The block of a written pass that another stream uses.
BlockId MicroBatches::used_block(const Model& model, const ShapedEvent& event, BlockId own,
                                 const Flight* flight) const {
  switch (event.owner) {
    case BlockOwner::forward: return flight->forward.first_block + event.offset;
    case BlockOwner::held:
      if (event.offset < kept_.size()) return memory_of(*kept_[event.offset]);
      return model.lasting[event.offset - kept_.size()];
    default: return own + event.offset;
  }
}

Stretch MicroBatches::write(const Model& model, Flight* flight) {
  Tape& tape = session().tape;
  const TapePosition from = end_of(tape);
  for (const ShapedEvent& event : model.shape) {
    if (event.kind == EventKind::alloc) {
      tape.alloc_again(model.stretch.first_block + event.offset, event.stream);
    } else if (event.kind == EventKind::record_stream) {
      tape.events.push_back(
          {event.kind, event.stream, used_block(model, event, from.block, flight)});
    } else if (event.owner == BlockOwner::stretch) {
      tape.free(from.block + event.offset, event.stream);
    } else if (event.owner == BlockOwner::forward) {
      free_of_forward(event, *flight);
    } else {
      kept_[event.offset]->reset();
    }
  }
  return between(from, end_of(tape));
}

/// The history of a place holds what that of its model holds.
void MicroBatches::leave_graph(const Left& left, std::size_t place, const Stretch& written,
                               const Flight& flight, std::map<BlockId, Ptr<Storage>>& storages) {
  const auto graph = make_node<WrittenForward>(left.holds_input ? flight.input : Tensor());
  for (const HeldByGraph& one : left.in_graph) {
    const bool is_own = one.owner == BlockOwner::stretch;
    const BlockId block = one.owner == BlockOwner::input
                              ? block_of(flight.input)
                              : one.offset + (is_own ? written : flight.forward).first_block;
    Ptr<Storage>& storage = storages[block];
    if (!storage && one.owner == BlockOwner::input)
      storage = flight.input.impl().storage;
    else if (!storage)
      storage = storage_of_block(block, one.stream);
    graph->outlasting.push_back(storage);
    blocks_in_graphs_[place].push_back(block);
  }
  in_graphs_[place] = left.in_graph;
  set_history(*kept_[place], graph);
}

/// The model keeps of the written pass what it keeps of the one it was written after.
void MicroBatches::leave(const Model& model, const Stretch& written, Flight& flight,
                         std::map<BlockId, Ptr<Storage>>& storages) {
  const std::size_t events = session().tape.events.size();
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const Left& left = model.left[i];
    if (left.what != Left::What::same) in_graphs_[i].clear(), blocks_in_graphs_[i].clear();
    if (left.what == Left::What::input) *kept_[i] = flight.input;
    if (left.what != Left::What::own) continue;
    const auto storage = storage_of_block(written.first_block + left.offset, left.stream);
    *kept_[i] = tensor_over(storage, model.patterns[i]);
    if (left.holds_input) set_history(*kept_[i], flight.history);
    if (!left.in_graph.empty()) leave_graph(left, i, written, flight, storages);
    if (left.is_shared) flight.shared.emplace_back(left.offset, storage);
  }
  if (session().tape.events.size() != events) session().layers_differ = true;
}

std::optional<Tensor> MicroBatches::write_forward(const Tensor& input, bool is_last) {
  Session& s = session();
  const bool ends_with_a_model = !is_last || std::ranges::any_of(backward_, [](const Record& r) {
    return r.is_confirmed && r.standing.neighbour == Neighbour::none;
  });
  const Model* const model = confirmed(forward_, standing(before()));
  if (!model || !ends_with_a_model || s.error || !s.has_room(model->stretch.blocks)) return {};
  Flight flight{.number = forwards_++, .is_written = true, .input = input};
  flight.forward = write(*model, nullptr);
  flight.history = make_node<WrittenForward>(input);
  std::map<BlockId, Ptr<Storage>> storages;
  leave(*model, flight.forward, flight, storages);
  const auto storage =
      storage_of_block(flight.forward.first_block + model->result->offset, model->result->stream);
  Tensor output = tensor_over(storage, model->result_pattern);
  if (model->result->is_shared) flight.shared.emplace_back(model->result->offset, storage);
  flight.history.reset();
  const auto history = make_node<WrittenForward>(input);
  for (const HeldByGraph& one : model->own_of_nodes) {
    Ptr<Storage>& own = storages[flight.forward.first_block + one.offset];
    if (!own) own = storage_of_block(flight.forward.first_block + one.offset, one.stream);
    history->outlasting.push_back(own);
  }
  set_history(output, history);
  flight.output = output.ptr().get();
  flights_.push_back(std::move(flight));
  return output;
}

void MicroBatches::write_backward(const Tensor& output) {
  Session& s = session();
  const auto at = flight_of(output);
  Flight flight = std::move(*at);
  flights_.erase(at);
  const Model* const model = confirmed(backward_, standing(after(flight)));
  check_expected();
  if (!model || !settle_outlasting() || !outlasting_) {
    s.layers_differ = true;
    return;
  }
  if (!s.has_room(model->stretch.blocks)) return;
  const Stretch written = write(*model, &flight);
  std::map<BlockId, Ptr<Storage>> storages;
  leave(*model, written, flight, storages);
  for (const Recategorised& block : model->recategorised)
    s.tape.why.set_category(flight.forward.first_block + block.offset, block.category);
  auto& graph = static_cast<WrittenForward&>(*output.impl().grad_fn);
  for (const Outlasting& block : *outlasting_)
    graph.outlasting.push_back(
        storage_of_block(flight.forward.first_block + block.offset, block.stream));
  if (!model->result) return;
  flight.input.impl().grad = tensor_of_block(written.first_block + model->result->offset,
                                             model->result->stream, model->result_pattern)
                                 .ptr();
}

}  // namespace memtape::ghost
