// SPDX-License-Identifier: Apache-2.0
// MicroBatches: the forwards and backwards of one part of a model over micro-batches that are all
// alike. The first few are run; once two have left stretches of one shape, the next are written
// down again instead:
//
//     F0 F1 F2 | written: F3 ... | Fn    B0 B1 B2 | written: B3 ... | Bn
//
// A written micro-batch has blocks, and the tensors that others hold of them: its output, with a
// node that holds its input as the graph would, the gradient of its input, what the model keeps of
// its last pass. A pass is written after one that stood alike: a forward by whether the one before
// it has run backwards, a backward by whether a later forward has run, both by what of the model's
// kept tensors goes when others take their place. Where a backward that is due has no such model,
// or a pass that is run turns out to differ from those that were written after one like it, the
// whole run is void (Session::layers_differ) and is made again with every micro-batch run: what is
// written is never a guess. What a pass frees must be its own, its forward's, or what the model
// kept.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ghost/autograd/block_tensor.h"
#include "tape/stretch.h"

namespace memtape::ghost {

class MicroBatches {
 public:
  /// `kept`: where the model keeps tensors of its last pass; the places must stay.
  explicit MicroBatches(std::vector<Tensor*> kept) : kept_(std::move(kept)) {}

  /// A step begins: the names in which the last one held its micro-batches are gone, so that what
  /// the model keeps may alone hold, by its history, what others held before.
  void begin_step() { step_began_ = forwards_; }

  /// The output of a forward over `input`, written down; none where it has to be run. `is_last`: no
  /// other follows before its backward.
  std::optional<Tensor> write_forward(const Tensor& input, bool is_last);
  /// Around a forward that is run.
  void begin_forward() { begin(before()); }
  void end_forward(const Tensor& input, const Tensor& output);

  /// Whether the forward that gave `output` was written down: so must be its backward.
  bool is_written(const Tensor& output) const;
  /// Leaves the gradient of the input with it.
  void write_backward(const Tensor& output);
  /// Around a backward that is run.
  void begin_backward(const Tensor& output);
  void end_backward(const Tensor& input, const Tensor& output);

 private:
  /// Of a forward: the one before it, which has run backwards or not. Of a backward: a later
  /// forward, which has run or not.
  enum class Neighbour : std::uint8_t { none, in_flight, done };
  /// How a pass stands, when it begins.
  struct Standing {
    Neighbour neighbour = Neighbour::none;
    std::vector<bool> goes;  ///< of what the model keeps: would it go if another took its place
    bool operator==(const Standing&) const = default;
  };
  /// What stands in a place after a pass.
  struct Left {
    enum class What : std::uint8_t { same, input, own } what = What::same;
    BlockId offset = 0;  ///< of its own block
    StreamId stream = 0;
    bool is_shared = false;    ///< autograd's graph holds its memory, too
    bool holds_input = false;  ///< its history goes back to the input, and holds it
    bool operator==(const Left&) const = default;
  };
  struct Recategorised {
    BlockId offset = 0;
    Category category = Category::unknown;
    bool operator==(const Recategorised&) const = default;
  };
  /// A pass as others are written after it.
  struct Model {
    StretchShape shape;
    Stretch stretch;
    std::vector<BlockId> lasting;  ///< older blocks that it uses on another stream
    std::vector<Left> left;        ///< in kept_
    std::vector<Tensor> patterns;  ///< of `left`, without memory
    std::optional<Left> result;    ///< the output, or the gradient of the input
    Tensor result_pattern;
    std::vector<Recategorised> recategorised;  ///< blocks of its forward, by a backward
  };
  /// The last pass that was run of those that stood alike.
  struct Record {
    Standing standing;
    std::optional<Model> model;
    bool is_confirmed = false;  ///< the one before it was like it: others may be written after it
  };
  /// A micro-batch between its forward and its backward.
  struct Flight {
    const TensorImpl* output = nullptr;
    std::uint64_t number = 0;
    Stretch forward = {};
    bool is_written = false;
    Tensor input = {};       ///< of a written one
    Ptr<Node> history = {};  ///< of a written one, until all have it that it belongs to
    /// Memory of a written one's forward that is in tensors and that the graph would hold, too.
    std::vector<std::pair<BlockId, Ptr<Storage>>> shared = {};
    std::optional<Model> model = {};        ///< of a forward that was run, if it has one
    std::vector<Category> categories = {};  ///< of its blocks, after the forward
  };

  void begin(Neighbour neighbour);
  Neighbour before() const;
  Neighbour after(const Flight& flight) const;
  Standing standing(Neighbour neighbour) const;
  std::vector<Flight>::iterator flight_of(const Tensor& output);

  std::optional<Model> model_of(const Tensor& input, const std::optional<Stretch>& forward) const;
  std::optional<Left> left_of(const Tensor& tensor, const Stretch& stretch, const Tensor& input,
                              std::optional<BlockId> was) const;
  bool take_result(Model& model, const Tensor& result, std::uint32_t holders) const;
  std::optional<Model> forward_model(const Tensor& input, const Tensor& output) const;
  std::optional<Model> backward_model(const Tensor& input, const Flight& flight) const;
  static void record(std::vector<Record>& records, const Standing& standing,
                     std::optional<Model> model);
  static const Model* confirmed(const std::vector<Record>& records, const Standing& standing);

  void free_of_forward(const ShapedEvent& event, Flight& flight) const;
  BlockId used_block(const Model& model, const ShapedEvent& event, BlockId own,
                     const Flight* flight) const;
  Stretch write(const Model& model, Flight* flight);
  void leave(const Model& model, const Stretch& written, Flight& flight);

  std::vector<Tensor*> kept_;
  std::vector<Flight> flights_;
  std::uint64_t forwards_ = 0, step_began_ = 0;
  std::vector<Record> forward_, backward_;
  // When the pass that runs began:
  TapePosition began_;
  Standing standing_;
  std::vector<BlockId> kept_before_;
};

}  // namespace memtape::ghost
