// SPDX-License-Identifier: Apache-2.0
// MicroBatches: the forwards and backwards of one part of a model over micro-batches that are all
// alike. The first few are run. Once two of them have left stretches of one shape, the next ones
// are not run, but the stretch is written down again:
//
//     F0 F1 F2 | written: F3 ... | Fn    B0 B1 B2 | written: B3 ... | Bn
//
// A written micro-batch has blocks and the tensors through which others hold these: its output,
// with a node that holds its input as the graph would, the gradient of its input, and what the
// model keeps of its last pass. What a graph itself holds, beside saved tensors, goes with it after
// the backward (ctx.rng_states); it is written to go with the node.
//
// A pass is written like one that was run and began in the same situation. For a forward, the
// situation says whether the forward before it has run backwards; for a backward, whether a later
// forward has run; for both, which of the model's kept tensors are freed when others replace them.
// What is written is never a guess: if a backward that is due has no such model, or if a pass that
// is run differs from those that were written like it, the whole run is void
// (Session::layers_differ) and is made again with every micro-batch run. A pass may only free its
// own blocks, those of its forward, and what the model kept: its tensors, and what their graph
// holds. A module that is made again in backward keeps tensors whose graph leads back to what that
// second run was run on, which it holds together with its gradient. Both go with the last of these
// tensors, whatever pass replaces it, so they are no part of a pass's shape. What nodes keep of
// their own (OwnOfNodes) goes with the last of the output and the kept tensors whose history leads
// there. The gradient of a tensor that the model keeps goes with that tensor.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ghost/autograd/block_tensor.h"
#include "tape/stretch.h"

namespace memtape::ghost {

class MicroBatches {
 public:
  /// `kept` are the places where the model keeps tensors of its last pass. They must stay valid.
  /// `has_keepers` says whether nodes keep tensors of their own (OwnOfNodes).
  explicit MicroBatches(std::vector<Tensor*> kept, bool has_keepers = false)
      : kept_(std::move(kept)),
        has_keepers_(has_keepers),
        in_graphs_(kept_.size()),
        blocks_in_graphs_(kept_.size()) {}

  /// A step begins. The names by which the last step held its micro-batches are gone, so what
  /// others held before may now be held only by the history of what the model keeps.
  void begin_step() { step_began_ = forwards_; }

  /// The output of a forward over `input` that is written down, or nothing if the forward must be
  /// run. `is_last` means that no other forward follows before its backward.
  std::optional<Tensor> write_forward(const Tensor& input, bool is_last);
  /// Called before and after a forward that is run.
  void begin_forward() { begin(before()); }
  void end_forward(const Tensor& input, const Tensor& output);

  /// Whether the forward that gave `output` was written down. If it was, its backward must be, too.
  bool is_written(const Tensor& output) const;
  /// Writes the backward down and leaves the gradient of the input with the input.
  void write_backward(const Tensor& output);
  /// Called before and after a backward that is run.
  void begin_backward(const Tensor& output);
  void end_backward(const Tensor& input, const Tensor& output);

 private:
  /// For a forward, this is the forward before it, which has run backwards or has not. For a
  /// backward, it is a later forward, which has run or has not.
  enum class Neighbour : std::uint8_t { none, in_flight, done };
  /// The situation in which a pass begins.
  struct Standing {
    Neighbour neighbour = Neighbour::none;
    /// For each tensor that the model keeps: whether it is freed if another replaces it.
    std::vector<bool> goes;
    bool operator==(const Standing&) const = default;
  };
  /// A block that goes with a graph.
  struct Outlasting {
    BlockId offset = 0;  ///< within its pass
    StreamId stream = 0;
    bool operator==(const Outlasting&) const = default;
  };
  /// A block that only the history of a place holds: of this pass, of its forward, or its input.
  struct HeldByGraph {
    BlockOwner owner = BlockOwner::stretch;
    BlockId offset = 0;
    StreamId stream = 0;
    bool operator==(const HeldByGraph&) const = default;
  };
  /// What is in a place after a pass.
  struct Left {
    enum class What : std::uint8_t { same, input, own } what = What::same;
    BlockId offset = 0;  ///< the offset of its own block
    StreamId stream = 0;
    bool is_shared = false;                  ///< autograd's graph holds its memory, too
    bool holds_input = false;                ///< its history leads back to the input and holds it
    std::vector<HeldByGraph> in_graph = {};  ///< in the order in which it goes
    bool operator==(const Left&) const = default;
  };
  struct Recategorised {
    BlockId offset = 0;
    Category category = Category::unknown;
    bool operator==(const Recategorised&) const = default;
  };
  /// A pass that has been run, in the form in which others are written like it.
  struct Model {
    StretchShape shape;
    Stretch stretch;
    std::vector<BlockId> lasting;  ///< older blocks that it uses on another stream
    std::vector<Left> left;        ///< for each place in kept_
    std::vector<Tensor> patterns;  ///< the tensors of `left`, without memory
    std::optional<Left> result;    ///< the output, or the gradient of the input
    Tensor result_pattern;
    std::vector<HeldByGraph> own_of_nodes = {};  ///< what the output's history holds of them
    /// Blocks of its forward whose category a backward changes.
    std::vector<Recategorised> recategorised;
  };
  /// The last pass that was run among those that began in the same situation.
  struct Record {
    Standing standing;
    std::optional<Model> model;
    bool is_confirmed = false;  ///< the pass before it was equal, so others may be written like it
  };
  /// Those of the last backward that was run, until they have gone.
  struct Awaited {
    BlockId first_block = 0;
    std::size_t since = 0;  ///< the event from which on they go
    std::vector<BlockId> offsets;
  };
  /// What the nodes of the last backward that was run kept of their own, until it has gone.
  struct Expected {
    std::vector<BlockId> blocks;  ///< in the order in which they go
    std::size_t since = 0;        ///< the event from which on they go
  };
  /// A micro-batch between its forward and its backward.
  struct Flight {
    const TensorImpl* output = nullptr;
    std::uint64_t number = 0;
    Stretch forward = {};
    bool is_written = false;
    Tensor input = {};       ///< set if it was written
    Ptr<Node> history = {};  ///< set if it was written, until everything has it to which it belongs
    /// If its forward was written: memory that is in tensors and that the graph would hold, too.
    std::vector<std::pair<BlockId, Ptr<Storage>>> shared = {};
    std::optional<Model> model = {};        ///< that of a forward that was run, if it has one
    std::vector<Category> categories = {};  ///< those of its blocks, after the forward
  };

  void begin(Neighbour neighbour);
  bool settle_outlasting();
  void check_expected();
  Neighbour before() const;
  Neighbour after(const Flight& flight) const;
  Standing standing(Neighbour neighbour) const;
  void note_graphs(const Flight* of_backward, const Tensor& input, const Tensor& output);
  std::optional<HeldByGraph> held_by_graph(const Storage& memory, const Flight* of_backward,
                                           const Tensor& input) const;
  bool go_in_order(const StretchShape& gone, BlockId first) const;
  static bool leave_with_gradients(StretchShape& shape, BlockId first);
  void leave_graph(const Left& left, std::size_t place, const Stretch& written,
                   const Flight& flight, std::map<BlockId, Ptr<Storage>>& storages);
  std::vector<Flight>::iterator flight_of(const Tensor& output);

  std::optional<Model> model_of(const Tensor& input, const std::optional<Stretch>& forward) const;
  std::optional<Left> left_of(const Tensor& tensor, const Stretch& stretch, const Tensor& input,
                              std::optional<BlockId> was) const;
  bool take_result(Model& model, const Tensor& result, std::uint32_t holders) const;
  std::optional<Model> forward_model(const Tensor& input, const Tensor& output) const;
  std::optional<Model> backward_model(const Tensor& input, const Flight& flight);
  static void record(std::vector<Record>& records, const Standing& standing,
                     std::optional<Model> model);
  static const Model* confirmed(const std::vector<Record>& records, const Standing& standing);

  void free_of_forward(const ShapedEvent& event, Flight& flight) const;
  BlockId used_block(const Model& model, const ShapedEvent& event, BlockId own,
                     const Flight* flight) const;
  Stretch write(const Model& model, Flight* flight);
  void leave(const Model& model, const Stretch& written, Flight& flight,
             std::map<BlockId, Ptr<Storage>>& storages);

  std::vector<Tensor*> kept_;
  bool has_keepers_;
  std::vector<HeldByGraph> own_of_nodes_;               ///< in the history of the last output
  std::vector<std::vector<HeldByGraph>> in_graphs_;     ///< for each place, after the last pass
  std::vector<std::vector<BlockId>> blocks_in_graphs_;  ///< the same as blocks
  std::vector<Flight> flights_;
  std::uint64_t forwards_ = 0, step_began_ = 0;
  std::vector<Record> forward_, backward_;
  std::optional<Awaited> awaited_;
  std::optional<Expected> expected_;
  /// Blocks of a forward that go after the backward, in the order in which they go; none until a
  /// backward has been run.
  std::optional<std::vector<Outlasting>> outlasting_;
  // When the pass that runs began:
  TapePosition began_;
  Standing standing_;
  std::vector<BlockId> kept_before_, gradients_before_;
  std::vector<std::vector<BlockId>> in_graphs_before_;
};

}  // namespace memtape::ghost
