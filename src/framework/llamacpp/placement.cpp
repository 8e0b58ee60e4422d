// SPDX-License-Identifier: Apache-2.0
#include "framework/llamacpp/placement.h"
#include "framework/llamacpp/context_sizes.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "base/pattern.h"
#include "base/text.h"

namespace memtape::llamacpp {
namespace {

/// Where each GPU's share ends, as parts of one; in single precision, as the original.
std::vector<float> split_points(const Settings& s) {
  std::vector<float> points(s.device_numbers.size(), 1.0F);
  const bool even = std::ranges::all_of(s.tensor_split, [](double share) { return share == 0; });
  if (!even)
    for (std::size_t i = 0; i < points.size(); ++i)
      points[i] = i < s.tensor_split.size() ? static_cast<float>(s.tensor_split[i]) : 0.0F;
  float sum = 0;
  for (float& point : points) point = sum += point;
  for (float& point : points) point /= sum;
  return points;
}

/// The weights of experts that --cpu-moe and --n-cpu-moe name.
bool is_expert(std::string_view local) {
  constexpr std::array<std::string_view, 8> kExperts{
      "ffn_up_exps",   "ffn_down_exps",   "ffn_gate_exps",   "ffn_gate_up_exps",
      "ffn_up_chexps", "ffn_down_chexps", "ffn_gate_chexps", "ffn_gate_up_chexps"};
  return std::ranges::any_of(kExperts, [&](auto name) { return local.starts_with(name); });
}

/// Whether a pattern of the user's occurs in a name; a pattern that is none is the user's mistake.
Result<bool> occurs_in(const std::string& name, const std::string& pattern) {
  if (const std::optional<bool> found = search(pattern, name)) return *found;
  return bad_input(fmt::format("\"{}\" is no regular expression", pattern), "--override-tensor",
                   "like \"ffn_.*_exps=CPU\"");
}

/// The op of a weight whose name does not say it: A of recurrences that are no scans, and of those
/// with a row for it (llama-arch.cpp, SSM_A and SSM_A_NOSCAN).
ggml::Op op_in(const Hyperparameters& hp, const Weight& w) {
  if (w.local == "ssm_a" && hp.kda_head > 0) return ggml::Op::mul;
  if (w.local == "ssm_a" && hp.arch == "plamo2") return ggml::Op::ssm_scan;
  return op_of(w);
}

/// A tensor of the op that a weight is used with, as far as a device asks for it.
struct Probe {
  ggml::Tensor weight, other, state, op;

  Probe(const Weight& w, const Hyperparameters& hp, const ggml::BufferType& buffer) {
    shape(weight, w.type, w.ne);
    weight.buffer = &buffer;
    op.op = op_in(hp, w);
    op.type = ggml::Type::f32;
    switch (op.op) {
      case ggml::Op::mul_mat:
      case ggml::Op::mul_mat_id:
        shape(other, ggml::Type::f32, {w.ne[0], 512, w.ne[2], 1});
        op.src = {&weight, &other};
        break;
      case ggml::Op::get_rows:
      case ggml::Op::scale: op.src = {&weight}; break;
      case ggml::Op::ssm_scan:
        shape(state, ggml::Type::f32,
              {w.ne[0] == 1 ? hp.ssm_state : w.ne[0], hp.ssm_inner / w.ne[1], w.ne[1], 3});
        shape(other, ggml::Type::f32,
              {state.ne[0], std::max<std::int64_t>(hp.ssm_groups, 1), 512, 3});
        op.src = {&state, nullptr, nullptr, &weight, &other};
        break;
      case ggml::Op::ssm_conv:
        shape(other, ggml::Type::f32, {w.ne[0] + 511, w.ne[1], 3, 1});
        op.src = {&other, &weight};
        break;
      case ggml::Op::rope:
        shape(other, ggml::Type::f32, {hp.head_v, hp.n_head(), 512, 1});
        op.src = {&other, nullptr, &weight};
        break;
      default: shape(other, ggml::Type::f32, w.ne); op.src = {&other, &weight};
    }
  }

 private:
  static void shape(ggml::Tensor& t, ggml::Type type, ggml::Extents ne) {
    t.type = type;
    t.ne = ne;
    ggml::set_strides(t);
  }
};

}  // namespace

Placement::Placement(const Hyperparameters& hp, const Settings& settings, const Devices& devices)
    : hp_(hp), settings_(settings), devices_(devices) {
  const std::int64_t layers = hp.n_layer_all;
  const std::int64_t wanted = context_sizes(settings, hp).n_gpu_layers;
  fully_offloaded_ = wanted > layers;
  const std::int64_t first =
      std::max<std::int64_t>(layers + (settings.build.counts_output() ? 1 : 0) - wanted, 0);
  const std::int64_t active = devices.gpus() == 0 ? 0 : std::min(wanted, layers + 1);
  const bool output_offloaded = settings.build.counts_output() || fully_offloaded_;
  const std::vector<float> points = split_points(settings);
  for (std::int64_t il = 0; il <= layers; ++il) {
    if (il < first || il - first >= active || (il == layers && !output_offloaded)) {
      layers_.push_back(devices.cpu());
    } else {
      const float at = static_cast<float>(il - first) / static_cast<float>(active);
      const auto point = std::ranges::upper_bound(points, at);
      layers_.push_back(std::min(static_cast<int>(point - points.begin()), devices.gpus() - 1));
    }
  }
}

bool Placement::pipelined() const {
  if (settings_.device_kind == DeviceKind::rpc || settings_.device_kind == DeviceKind::opencl)
    return false;  // neither runs beside the program
  if (settings_.device_kind == DeviceKind::vulkan && !settings_.build.pipelines_vulkan())
    return false;
  return devices_.gpus() > 1 && fully_offloaded_ && settings_.kv_offload &&
         !settings_.splits_rows && !settings_.has_overrides();
}

bool Placement::usable(const Weight& weight, int device, const ggml::BufferType& buffer) const {
  const Probe probe(weight, hp_, buffer);
  return devices_.backend(device).supports_op(probe.op);
}

/// The device's own memory, then memory pinned for the first GPU, then plain memory.
const ggml::BufferType* Placement::first_usable(const Weight& weight, int device) const {
  if (device != devices_.cpu() && usable(weight, device, devices_.memory(device)))
    return &devices_.memory(device);
  if (devices_.has_pinned() && usable(weight, 0, devices_.pinned()))
    return settings_.mmap ? &devices_.memory(devices_.cpu()) : &devices_.pinned();
  return &devices_.memory(devices_.cpu());
}

Result<const ggml::BufferType*> Placement::overridden(const Weight& weight) const {
  for (const auto& [pattern, target] : settings_.overrides) {
    const Result<bool> found = occurs_in(weight.name, pattern);
    if (!found) return tl::unexpected(found.error());
    if (!*found) continue;
    if (target == "CPU") return first_usable(weight, devices_.cpu());
    std::vector<std::string_view> names{"CPU"};
    for (const ggml::BufferType* buffer : devices_.buffers()) {
      if (buffer->name() == target) return buffer;
      names.push_back(buffer->name());
    }
    return bad_input(fmt::format("unknown buffer type {}", target), "--override-tensor",
                     suggestion(target, names));
  }
  const bool host =
      is_expert(weight.local) && (settings_.cpu_moe || weight.layer < settings_.n_cpu_moe);
  return host ? first_usable(weight, devices_.cpu()) : nullptr;
}

Result<const ggml::BufferType*> Placement::buffer_of(const Weight& weight) const {
  const Result<const ggml::BufferType*> named = overridden(weight);
  if (!named || *named) return named;
  if (weight.place == Place::input) return first_usable(weight, devices_.cpu());
  return first_usable(weight,
                      layer(weight.place == Place::output ? hp_.n_layer_all : weight.layer));
}

bool Placement::splits(const Weight& weight) const {
  if (!settings_.splits_rows || op_in(hp_, weight) != ggml::Op::mul_mat) return false;
  const Result<const ggml::BufferType*> named = overridden(weight);
  return weight.ne[2] == 1 && weight.ne[3] == 1 && named && !*named;
}

}  // namespace memtape::llamacpp
