// SPDX-License-Identifier: Apache-2.0
#include "evidence/stack_story.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

namespace memtape {
namespace {

constexpr std::size_t kMostFrames = 24;

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// "transformers/models/llama/modeling_llama.py" of a path in site-packages, else the last two
/// parts.
std::string_view short_file(std::string_view file) {
  for (const std::string_view mark : {"site-packages/", "dist-packages/"})
    if (const std::size_t at = file.find(mark); at != file.npos)
      return file.substr(at + mark.size());
  const std::size_t last = file.rfind('/');
  if (last == file.npos || last == 0) return file;
  const std::size_t before = file.rfind('/', last - 1);
  return before == file.npos ? file : file.substr(before + 1);
}

/// torch writes C++ frames with libraries' names or "??" for a file.
bool is_python(std::string_view file, std::string_view function) {
  return (file.ends_with(".py") || file.starts_with('<')) && function.find("::") == function.npos;
}

bool is_torch(std::string_view file) {
  const std::string_view name = short_file(file);
  return name.starts_with("torch/") || has(file, "/torch/") || file.starts_with('<');
}

/// "at::_ops::mm::call(...)" is the op mm.
std::string_view aten_op(std::string_view function) {
  constexpr std::string_view kOps = "at::_ops::";
  const std::size_t at = function.find(kOps);
  if (at == function.npos) return {};
  const std::string_view rest = function.substr(at + kOps.size());
  return rest.substr(0, rest.find("::"));
}

struct Sign {
  std::string_view file, function;  ///< parts of them; "" fits all
  Category category;
};

/// The first that any frame, from the innermost, shows. Optimizers come before modules: their state
/// is made by torch.zeros_like within step().
constexpr std::array<Sign, 26> kSigns{{
    {"", "getCurrentCUDABlasHandle", Category::workspace},
    {"", "allocateCUDABlas", Category::workspace},
    {"", "getCUDABlasLtWorkspace", Category::workspace},
    {"cache_utils.py", "", Category::kv_cache},
    {"", "allocate_kv_cache", Category::kv_cache},
    {"torch/distributed/fsdp", "", Category::communication},
    {"distributed_c10d.py", "", Category::communication},
    {"", "c10d::", Category::communication},
    {"optim", "_init_group", Category::optimizer_state},
    {"optim", "_init_state", Category::optimizer_state},
    {"optim", "init_state", Category::optimizer_state},
    {"torch/optim/", "", Category::temporary},
    {"", "_multi_tensor_adam", Category::temporary},
    {"", "clip_grad_norm", Category::temporary},
    {"", "torch::autograd::Engine", Category::gradient},
    {"", "torch::autograd::Node", Category::gradient},
    {"torch/autograd/", "", Category::gradient},
    {"torch/_tensor.py", "backward", Category::gradient},
    {"", "_load_state_dict", Category::parameter},
    {"", "load_state_dict", Category::parameter},
    {"", "_load_pretrained_model", Category::parameter},
    {"", "from_pretrained", Category::parameter},
    {"", "load_weights", Category::parameter},
    {"torch/nn/modules/module.py", "_apply", Category::parameter},
    {"", "convert", Category::parameter},
    {"torch/nn/parameter.py", "", Category::parameter},
}};

Category category_of(const Stacks& stacks, const std::vector<FrameId>& frames) {
  for (const Sign& sign : kSigns)
    for (const FrameId id : frames) {
      const StackFrame& frame = stacks.frames[id];
      if (has(stacks.text(frame.file), sign.file) &&
          has(stacks.text(frame.function), sign.function))
        return sign.category;
    }
  bool python = false, in_forward = false;
  for (const FrameId id : frames) {
    const StackFrame& frame = stacks.frames[id];
    const std::string_view function = stacks.text(frame.function);
    python |= is_python(stacks.text(frame.file), function);
    in_forward |= function == "forward" || function == "_call_impl" || function == "__call__";
  }
  if (in_forward) return Category::activation;
  return python ? Category::unknown : Category::gradient;  // autograd's threads have no Python
}

/// memtape's own snapshots name category and phase in the outermost frame.
bool category_by_name(const Stacks& stacks, const std::vector<FrameId>& frames,
                      Category& category) {
  const std::string_view outermost = stacks.text(stacks.frames[frames.back()].file);
  const auto known = std::ranges::find(kCategoryNames, outermost);
  if (known == kCategoryNames.end()) return false;
  category = static_cast<Category>(known - kCategoryNames.begin());
  return true;
}

}  // namespace

StackStory story_of(const Stacks& stacks, StackId stack) {
  StackStory story;
  const std::vector<FrameId>& frames = stacks.stacks[stack];
  if (frames.empty()) return story;
  const bool own = category_by_name(stacks, frames, story.category);
  if (!own) story.category = category_of(stacks, frames);
  std::string inner;
  std::string_view inner_function;
  for (const FrameId id : frames) {
    const StackFrame& frame = stacks.frames[id];
    const std::string_view file = stacks.text(frame.file), function = stacks.text(frame.function);
    if (story.op.empty()) story.op = aten_op(function);
    if (!own && !is_python(file, function)) continue;
    const std::string text = own ? std::string(file.empty() ? function : file)
                                 : fmt::format("{}:{} {}", short_file(file), frame.line, function);
    if (story.frames.size() < kMostFrames) story.frames.push_back(text);
    if (inner.empty()) {
      inner = text;
      inner_function = function;
    }
    if (story.place.empty() && (own || !is_torch(file))) story.place = text;
  }
  if (story.place.empty()) story.place = inner;
  if (story.op.empty() && inner != story.place) story.op = inner_function;
  return story;
}

}  // namespace memtape
