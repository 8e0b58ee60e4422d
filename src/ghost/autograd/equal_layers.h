// SPDX-License-Identifier: Apache-2.0
// EqualLayers: a stack of layers that do the same, of which only the first three and the last two
// are run. What the third did is written down again for those between: they have blocks and
// gradients, but no tensors and no autograd nodes of their own.
//
//     run 0 1 2 | written: 3 ... n-3 | run n-2 n-1          forward
//     run n-1 n-2 | written: n-3 ... 3 | run 2 1 0          backward, as one node
//
// In forward, layer 2 must leave the stretch that layer 1 left; in backward, layer n-2's stretch is
// the model of the written ones, and layer 2's must be like it. Where that does not hold the whole
// run is void (Session::layers_differ) and is made again with every layer run: what is written is
// then never a guess. Layers may lend each other nothing but the hidden states and their gradient.
// A pass without gradients has no backward; its layers may hold tensors from pass to pass
// (layer_states.h), of which each written layer gets its own.
// A "layer" is a unit here: models that alternate kinds of layers repeat a whole period.
#pragma once

#include <optional>
#include <vector>

#include "ghost/autograd/layer_states.h"
#include "ghost/autograd/node.h"
#include "tape/stretch.h"

namespace memtape::ghost {

class EqualLayers : public RefCounted {
 public:
  /// The layers that are run at either end.
  static constexpr std::size_t kHead = 3, kTail = 2;

  /// What a layer has of its own, in the order of the module tree, alike for all.
  struct Layer {
    std::vector<ScopeId> scopes;
    std::vector<Tensor> parameters;
  };
  /// A "layer" is `period` layers of the model.
  EqualLayers(std::vector<Layer> layers, std::size_t period);

  /// Whether a stack of `layers`, of `period` layers of the model each, may be written down now: in
  /// a forward with gradients that is not itself under saved-tensor hooks, or in a pass without
  /// that is known to leave nothing but LayerStates, when the session allows it.
  static bool worth_it(std::size_t layers, std::size_t period);

  std::size_t middle_end() const { return layers_.size() - kTail; }

  /// Called before each layer that runs, and once after the last, with the hidden states.
  void reach(std::size_t layer, const Tensor& hidden);
  /// After the head ran: writes down the middle; `hidden` becomes what the last of it gives. False,
  /// and nothing done, when the head's layers are not alike.
  bool write_middle(Tensor& hidden);

  /// The node of the middle runs: writes its layers backwards.
  void write_middle_backwards(Gradients& in, Gradients& out);
  /// The engine is about to run the first node that lies before Session::layer_boundary.
  void reach_backwards(const Node& node);
  void forget_input() { input_.reset(); }

 private:
  /// A scope as the layers have it alike: one of a layer's own, or of the layer below it.
  struct Place {
    static constexpr std::size_t kElsewhere = 2;
    std::size_t layers_below = 0;
    std::size_t index = 0;  ///< among that layer's scopes; elsewhere the scope itself
  };
  /// A stretch to write again, its blocks by their order.
  struct Model {
    StretchShape shape;
    std::vector<Bytes> requested;
    std::vector<Reasons::Id> why;
    std::vector<Place> place;  ///< in the place of the scope
  };
  /// Tensors that own what a written stretch may free; empty where blocks of the tape do.
  struct Lent {
    Tensor input, gradient;
    BlockId gradient_block = 0;  ///< when `gradient` is empty
  };

  Stretch forward_of(std::size_t layer) const { return between(began_[layer], began_[layer + 1]); }
  bool parameters_are_alike() const;
  bool head_is_alike(const Tensor& hidden);
  bool states_are_alike();
  bool leave_alike_states() const;
  void give_states(const Stretch& written, std::size_t layer) const;
  Tensor& held_at(std::size_t layer, std::size_t index) const;
  Surroundings around(std::size_t layer) const;
  bool kept_casts_are_saved() const;
  Place place_of(ScopeId scope, std::size_t layer) const;
  ScopeId scope_at(const Place& place, std::size_t layer) const;
  Model model_of(const StretchShape& shape, const Stretch& sizes, const Stretch& reasons,
                 std::size_t layer) const;
  Stretch write(const Model& model, std::size_t layer, Lent& lent) const;
  Tensor written_hidden(const Tensor& hidden);
  std::optional<StretchShape> backward_shape(const Stretch& stretch, std::size_t layer) const;
  bool can_write_backwards(const Gradients& in) const;
  Tensor write_layers_backwards(Tensor gradient);
  bool give_gradients(const Stretch& written, std::size_t layer) const;
  void differ() const;

  std::vector<Layer> layers_;
  std::size_t period_;
  LayerStates* states_;                        ///< null with gradients
  std::vector<std::vector<HeldTensor>> held_;  ///< by layer that ran, when it began
  std::vector<TapePosition> began_;            ///< by layer, in the forward
  std::vector<std::uint64_t> first_sequence_;  ///< of its nodes, by layer
  std::vector<BlockId> given_;                 ///< the hidden states each layer was given
  std::size_t casts_before_ = 0;               ///< autocast's, when the head's last layer began
  StretchShape forward_shape_;
  bool forward_frees_input_ = false;
  Tensor input_;  ///< what the middle was given, as its nodes would hold it

  std::optional<TapePosition> backward_began_;  ///< of the layer that runs backwards now
  std::optional<BlockId> given_gradient_;       ///< to that layer
  StretchShape backward_shape_;
  Stretch backward_model_;
};
void destroy(EqualLayers* layers);

}  // namespace memtape::ghost
