// SPDX-License-Identifier: Apache-2.0
#include "framework/dialects.h"

#include <algorithm>
#include <array>

namespace memtape {

// Each is in its folder's dialect.cpp.
namespace torch {
extern const Dialect kDialect;
}
namespace transformers {
extern const Dialect kDialect;
}
namespace ddp {
extern const Dialect kDialect;
}
namespace fsdp1 {
extern const Dialect kDialect;
}
namespace fsdp2 {
extern const Dialect kDialect;
}
namespace deepspeed {
extern const Dialect kDialect;
}
namespace torch_tp {
extern const Dialect kDialect;
}
namespace torch_pp {
extern const Dialect kDialect;
}
namespace torch_cp {
extern const Dialect kDialect;
}
namespace litgpt {
extern const Dialect kDialect;
}
namespace megatron {
extern const Dialect kDialect;
}
namespace torchtitan {
extern const Dialect kDialect;
}
namespace torchtune {
extern const Dialect kDialect;
}

namespace {

constexpr std::array kDialects{&torch::kDialect,    &transformers::kDialect, &ddp::kDialect,
                               &fsdp1::kDialect,    &fsdp2::kDialect,        &deepspeed::kDialect,
                               &torch_tp::kDialect, &torch_pp::kDialect,     &torch_cp::kDialect,
                               &litgpt::kDialect,   &megatron::kDialect,     &torchtitan::kDialect,
                               &torchtune::kDialect};

constexpr auto kFrameworks = [] {
  std::array<const Framework*, kDialects.size()> found{};
  std::ranges::transform(kDialects, found.begin(),
                         [](const Dialect* dialect) { return &dialect->framework; });
  return found;
}();

}  // namespace

std::span<const Dialect* const> dialects() { return kDialects; }

Frameworks frameworks() { return kFrameworks; }

Result<const Framework*> framework_named(std::span<const NamedValue> values) {
  const std::string* name = last_value(values, "framework");
  return name ? find_framework(*name, frameworks()) : frameworks().front();
}

const Dialect& dialect_of(const Framework* framework) {
  for (const Dialect* dialect : kDialects)
    if (&dialect->framework == framework) return *dialect;
  return *kDialects.front();
}

const Dialect& dialect_of(const TrainRecipe& recipe) { return dialect_of(recipe.framework); }

std::string names_of_dialects(bool (*takes)(const Dialect& dialect)) {
  std::vector<std::string_view> names;
  for (const Dialect* dialect : kDialects)
    if (takes(*dialect)) names.push_back(dialect->framework.name);
  std::string text;
  for (std::size_t at = 0; at < names.size(); ++at)
    text += (at == 0 ? "" : at + 1 == names.size() ? " or " : ", ") + std::string(names[at]);
  return text;
}

}  // namespace memtape
