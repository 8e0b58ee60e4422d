// SPDX-License-Identifier: Apache-2.0
#include "ghost/autograd/equal_layers.h"

#include <algorithm>
#include <utility>

#include "ghost/autograd/block_tensor.h"
#include "ghost/given.h"

namespace memtape::ghost {
namespace {

struct MiddleBackward final : Node {
  explicit MiddleBackward(const Ptr<EqualLayers>& stack) : Node("MiddleBackward"), layers(stack) {}
  ~MiddleBackward() override { layers->forget_input(); }
  void apply(Gradients& in, Gradients& out) override { layers->write_middle_backwards(in, out); }
  void release() override { layers->forget_input(); }

  Ptr<EqualLayers> layers;
};

bool alike(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() &&
         a.impl().requires_grad == b.impl().requires_grad;
}

/// Nobody else holds the tensor or its memory.
bool is_sole_owner(const Tensor& tensor) {
  return tensor.ptr()->refs == 1 && tensor.impl().storage && tensor.impl().storage->refs == 1 &&
         !tensor.impl().base;
}

/// The same tensor with its history and without its memory.
Tensor without_memory(const Tensor& tensor) {
  auto* impl = make_impl();
  impl->dtype = tensor.dtype();
  impl->sizes = tensor.sizes();
  impl->strides = tensor.strides();
  impl->grad_fn = tensor.impl().grad_fn;
  impl->output_nr = tensor.impl().output_nr;
  return Tensor(Ptr<TensorImpl>(impl));
}

bool frees(const StretchShape& shape, BlockOwner owner) {
  return std::any_of(shape.begin(), shape.end(),
                     [owner](const ShapedEvent& e) { return e.owner == owner; });
}

}  // namespace

void destroy(EqualLayers* layers) { delete layers; }

EqualLayers::EqualLayers(std::vector<Layer> layers, std::size_t period)
    : layers_(std::move(layers)),
      period_(period),
      states_(session().grad_enabled ? nullptr : given_here<LayerStates>()),
      held_(layers_.size()) {
  began_.reserve(layers_.size() + 1);
  first_sequence_.reserve(layers_.size() + 1);
  given_.reserve(layers_.size() + 1);
}

bool EqualLayers::worth_it(std::size_t layers, std::size_t period) {
  const Session& s = session();
  if (!s.repeats_layers || layers <= kHead + kTail || s.hooks || s.skipping || s.equal_layers)
    return false;
  if (s.grad_enabled) return true;
  const LayerStates* const states = given_here<LayerStates>();
  return states && states->repeats(layers * period) && states->is_at(0);
}

void EqualLayers::differ() const { session().layers_differ = true; }

void EqualLayers::reach(std::size_t layer, const Tensor& hidden) {
  Session& s = session();
  began_.push_back(end_of(s.tape));
  first_sequence_.push_back(s.next_sequence);
  given_.push_back(hidden.impl().storage ? block_of(hidden) : 0);
  if (states_ && layer < layers_.size())
    held_[layer] = held_tensors(*states_, layer * period_, period_);
  if (layer + 1 == kHead) casts_before_ = s.autocast.cache.size();
  if (layer < layers_.size() || s.skipping) return;
  const std::size_t last_but_one = layers_.size() - kTail;
  const Stretch model = forward_of(kHead - 1), stretch = forward_of(last_but_one);
  const auto shape = shape_of(s.tape, stretch, around(last_but_one));
  if (shape != forward_shape_ || !allocate_alike(s.tape, model, stretch)) differ();
  if (states_) return;
  s.layer_boundary = first_sequence_[last_but_one + 1];
  s.equal_layers = Ptr<EqualLayers>(this);
}

bool EqualLayers::parameters_are_alike() const {
  const Layer& model = layers_[kHead - 1];
  return std::all_of(layers_.begin() + 1, layers_.end(), [&](const Layer& layer) {
    return layer.scopes.size() == model.scopes.size() &&
           std::equal(layer.parameters.begin(), layer.parameters.end(), model.parameters.begin(),
                      model.parameters.end(), alike);
  });
}

/// Casts that only autocast's cache holds would be freed when its context ends, not in backward.
bool EqualLayers::kept_casts_are_saved() const {
  const auto& cache = session().autocast.cache;
  return std::all_of(cache.begin() + static_cast<std::ptrdiff_t>(casts_before_), cache.end(),
                     [](const Autocast::Cached& c) { return c.cast->storage->refs > 1; });
}

bool EqualLayers::head_is_alike(const Tensor& hidden) {
  const Tape& tape = session().tape;
  const Stretch before = forward_of(kHead - 2), last = forward_of(kHead - 1);
  if (!(states_ || hidden.impl().grad_fn) || !is_sole_owner(hidden) ||
      !last.has(block_of(hidden)) ||
      block_of(hidden) - last.first_block != given_[kHead - 1] - before.first_block)
    return false;
  const auto model = shape_of(tape, before, around(kHead - 2));
  const auto shape = shape_of(tape, last, around(kHead - 1));
  if (!model || model != shape || !allocate_alike(tape, before, last)) return false;
  forward_shape_ = *shape;
  if (states_ && !(frees(forward_shape_, BlockOwner::input) && states_are_alike())) return false;
  return parameters_are_alike() && kept_casts_are_saved();
}

Surroundings EqualLayers::around(std::size_t layer) const {
  Surroundings around{.input = given_[layer]};
  if (states_) around.held = blocks_of(held_[layer]);
  return around;
}

/// The layers of the middle hold what the head's last layer held, each to itself.
bool EqualLayers::states_are_alike() {
  const std::vector<HeldTensor>& model = held_[kHead - 1];
  const auto is_owned = [](const HeldTensor& held) { return held.is_owned; };
  if (!states_->is_at(kHead * period_) || !std::all_of(model.begin(), model.end(), is_owned) ||
      !are_alike(held_[kHead - 2], model) || !leave_alike_states())
    return false;
  for (std::size_t layer = kHead; layer < layers_.size(); ++layer)
    if (!are_alike(held_tensors(*states_, layer * period_, period_), model)) return false;
  return true;
}

/// The head's layers left in the place of what they held the same blocks of theirs.
bool EqualLayers::leave_alike_states() const {
  const Stretch before = forward_of(kHead - 2), last = forward_of(kHead - 1);
  const auto x = held_tensors(*states_, (kHead - 2) * period_, period_),
             y = held_tensors(*states_, (kHead - 1) * period_, period_);
  if (!are_alike(x, y)) return false;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (!y[i].block || y[i].block == held_[kHead - 1][i].block) continue;
    if (!y[i].is_owned || !last.has(*y[i].block) ||
        *y[i].block - last.first_block != *x[i].block - before.first_block)
      return false;
  }
  return true;
}

Tensor& EqualLayers::held_at(std::size_t layer, std::size_t index) const {
  const std::size_t each = held_[kHead - 1].size() / period_;
  return *states_->held(layer * period_ + index / each)[index % each];
}

/// What the head's last layer left, of the blocks of `layer`.
void EqualLayers::give_states(const Stretch& written, std::size_t layer) const {
  const Stretch last = forward_of(kHead - 1);
  for (std::size_t i = 0; i < held_[kHead - 1].size(); ++i) {
    const Tensor& model = held_at(kHead - 1, i);
    if (!model.defined() || !model.impl().storage || !last.has(block_of(model))) continue;
    held_at(layer, i) = tensor_of_block(written.first_block + block_of(model) - last.first_block,
                                        model.impl().storage->stream, model);
  }
  for (std::size_t i = 0; i < period_; ++i)
    states_->follow(layer * period_ + i, (kHead - 1) * period_ + i);
}

/// A gradient on its way to the layer below is billed to that layer's node.
EqualLayers::Place EqualLayers::place_of(ScopeId scope, std::size_t layer) const {
  for (std::size_t below = 0; below <= 1; ++below) {
    const std::vector<ScopeId>& scopes = layers_[layer - below].scopes;
    const auto found = std::find(scopes.begin(), scopes.end(), scope);
    if (found != scopes.end()) return {below, static_cast<std::size_t>(found - scopes.begin())};
  }
  return {.layers_below = Place::kElsewhere, .index = scope};
}

ScopeId EqualLayers::scope_at(const Place& place, std::size_t layer) const {
  if (place.layers_below == Place::kElsewhere) return static_cast<ScopeId>(place.index);
  return layers_[layer - place.layers_below].scopes[place.index];
}

/// The stretch `sizes` of `layer`, with the reasons of its neighbour's stretch `reasons`, whose
/// output the next layer has saved already.
EqualLayers::Model EqualLayers::model_of(const StretchShape& shape, const Stretch& sizes,
                                         const Stretch& reasons, std::size_t layer) const {
  Tape& tape = session().tape;
  Model model{.shape = shape, .requested = {}, .why = {}, .place = {}};
  for (BlockId i = 0; i < sizes.blocks; ++i) {
    const BlockId neighbour = reasons.first_block + i;
    model.requested.push_back(tape.requested[sizes.first_block + i]);
    model.why.push_back(tape.why.share(neighbour));
    model.place.push_back(place_of(tape.why[neighbour].scope, layer));
  }
  return model;
}

/// Writes `model` down for `layer`; what it frees of the lent is freed through the tensors.
Stretch EqualLayers::write(const Model& model, std::size_t layer, Lent& lent) const {
  Tape& tape = session().tape;
  const TapePosition began = end_of(tape);
  tape.requested.insert(tape.requested.end(), model.requested.begin(), model.requested.end());
  for (std::size_t i = 0; i < model.place.size(); ++i)
    tape.why.add(model.why[i], scope_at(model.place[i], layer));
  const BlockId forward = began_[layer].block;
  for (const ShapedEvent& event : model.shape) {
    const auto write_event = [&](BlockId block) {
      tape.events.push_back({event.kind, event.stream, block});
    };
    if (event.owner == BlockOwner::stretch)
      write_event(began.block + event.offset);
    else if (event.owner == BlockOwner::forward)
      write_event(forward + event.offset);
    else if (event.owner == BlockOwner::held)
      held_at(layer, event.offset).reset();
    else if (Tensor& owner = event.owner == BlockOwner::input ? lent.input : lent.gradient;
             owner.defined())
      owner.reset();
    else
      write_event(event.owner == BlockOwner::input ? given_[layer] : lent.gradient_block);
  }
  return between(began, end_of(tape));
}

/// The hidden states that leave the middle, with its node as their history.
Tensor EqualLayers::written_hidden(const Tensor& hidden) {
  Session& s = session();
  if (states_) return tensor_of_block(given_[middle_end()], s.stream, hidden);
  const char* const keeper = s.keeper;
  const auto node = make_node<MiddleBackward>(Ptr<EqualLayers>(this));
  s.keeper = keeper;
  node->scope = scope_at(place_of(hidden.impl().grad_fn->scope, kHead - 1), middle_end() - 1);
  node->edges.push_back(gradient_edge(hidden));
  Tensor out = tensor_of_block(given_[middle_end()], s.stream, hidden);
  set_history(out, node);
  return out;
}

bool EqualLayers::write_middle(Tensor& hidden) {
  Session& s = session();
  if (s.skipping || !head_is_alike(hidden)) return false;
  const Stretch last = forward_of(kHead - 1), before = forward_of(kHead - 2);
  const std::size_t count = middle_end() - kHead;
  if (!s.has_room(count * last.blocks)) return false;
  const BlockId output = block_of(hidden) - last.first_block;
  // The layer after would have saved these as the one before saved its own input.
  Why why = s.tape.why[block_of(hidden)];
  const Why saved = s.tape.why[given_[kHead - 1]];
  why.category = saved.category;
  if (!states_) why.node = saved.node;
  s.tape.why.set(block_of(hidden), why);
  const Model model = model_of(forward_shape_, last, before, kHead - 2);
  const Tensor entering = without_memory(hidden);
  forward_frees_input_ = frees(forward_shape_, BlockOwner::input);
  Lent lent;
  if (forward_frees_input_)
    lent.input = std::move(hidden);
  else
    input_ = std::move(hidden);
  for (std::size_t layer = kHead; layer < middle_end(); ++layer) {
    const Stretch written = write(model, layer, lent);
    began_.push_back(end_of(s.tape));
    first_sequence_.push_back(s.next_sequence);
    given_.push_back(written.first_block + output);
    if (states_) give_states(written, layer);
  }
  if (states_) held_[middle_end()] = held_tensors(*states_, middle_end() * period_, period_);
  hidden = written_hidden(entering);
  return true;
}

void EqualLayers::reach_backwards(const Node& node) {
  Session& s = session();
  s.layer_boundary = 0;
  if (!backward_began_) {
    backward_began_ = end_of(s.tape);
    if (node.buffer.size() > 0 && node.buffer[0].defined() && node.buffer[0].impl().storage)
      given_gradient_ = block_of(node.buffer[0]);
    return;
  }
  const Stretch stretch = between(*backward_began_, end_of(s.tape));
  if (backward_shape(stretch, kHead - 1) != backward_shape_ ||
      !allocate_alike(s.tape, backward_model_, stretch))
    differ();
  s.equal_layers.reset();
}

std::optional<StretchShape> EqualLayers::backward_shape(const Stretch& stretch,
                                                        std::size_t layer) const {
  return shape_of(
      session().tape, stretch,
      {.forward = forward_of(layer), .input = given_[layer], .gradient = given_gradient_});
}

/// The gradient is handed through in place or made anew, and what was lent is freed exactly once.
bool EqualLayers::can_write_backwards(const Gradients& in) const {
  if (!given_gradient_ || !is_sole_owner(in[0])) return false;
  const bool passed_on = block_of(in[0]) == *given_gradient_;
  const bool frees_input = frees(backward_shape_, BlockOwner::input);
  return (passed_on || backward_model_.has(block_of(in[0]))) &&
         passed_on != frees(backward_shape_, BlockOwner::gradient) &&
         frees_input != forward_frees_input_;
}

void EqualLayers::write_middle_backwards(Gradients& in, Gradients& out) {
  Session& s = session();
  const auto give_up = [&] {
    differ();
    out[0] = std::move(in[0]);
  };
  if (s.skipping || s.layers_differ || !backward_began_) return give_up();
  backward_model_ = between(*backward_began_, end_of(s.tape));
  auto shape = backward_shape(backward_model_, middle_end());
  if (!shape) return give_up();
  backward_shape_ = std::move(*shape);
  if (!can_write_backwards(in) || !s.has_room((middle_end() - kHead) * backward_model_.blocks))
    return give_up();
  out[0] = write_layers_backwards(std::move(in[0]));
  given_gradient_ = block_of(out[0]);
  backward_began_ = end_of(s.tape);
  s.layer_boundary = first_sequence_[kHead - 1];
}

/// From the gradient of what the middle gave to that of what it was given.
Tensor EqualLayers::write_layers_backwards(Tensor gradient) {
  const bool passed_on = block_of(gradient) == *given_gradient_;
  const BlockId offset = block_of(gradient) - backward_model_.first_block;
  const Model model = model_of(backward_shape_, backward_model_, backward_model_, middle_end());
  const Tensor pattern = without_memory(gradient);
  Lent lent;
  if (!passed_on) lent.gradient = std::move(gradient);
  for (std::size_t layer = middle_end(); layer-- > kHead;) {
    if (layer == kHead) lent.input = std::move(input_);
    const Stretch written = write(model, layer, lent);
    if (!give_gradients(written, layer)) differ();
    lent.gradient_block = written.first_block + offset;
  }
  return passed_on ? gradient : tensor_of_block(lent.gradient_block, session().stream, pattern);
}

/// The parameters' .grad, as those of the layer that is the model have it.
bool EqualLayers::give_gradients(const Stretch& written, std::size_t layer) const {
  const std::vector<Tensor>& models = layers_[middle_end()].parameters;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const Tensor model = models[i].grad();
    TensorImpl& parameter = layers_[layer].parameters[i].impl();
    if (!model.defined()) continue;
    if (!backward_model_.has(block_of(model))) {
      if (!parameter.grad) return false;
      continue;
    }
    if (parameter.grad || model.impl().storage->refs != 1) return false;
    const BlockId block = written.first_block + block_of(model) - backward_model_.first_block;
    parameter.grad = tensor_of_block(block, model.impl().storage->stream, model).ptr();
  }
  return true;
}

}  // namespace memtape::ghost
