// SPDX-License-Identifier: Apache-2.0
// --as-family NAME: a model whose code is not known, answered as a family of its sizes. The answer
// says that it is an estimate, and its bounds are wide. Without the option such a model is refused,
// with the bytes that its checkpoint stores and the ways to an answer.
#pragma once

#include <string>

#include "base/result.h"
#include "model/model_source.h"
#include "option/given.h"
#include "outcome/serve_answer.h"

namespace memtape::answer {

constexpr const char* kAsFamily = "as-family";

/// The model with that family's name and class in its config.json, and a warning that says so;
/// unchanged where the option is not given. It is an error if the family is not known, is not a
/// decoder alone, or if the model's own is known.
Result<ModelSource> as_asked(ModelSource source, const NamedValues& values);

/// What is not known of the model then, or "".
std::string estimated_part(const NamedValues& values);

/// From what does not depend on the code to twice what a batch takes beside weights and caches.
void widen_estimate(ServeAnswer& answer, const ModelSource& source, const NamedValues& values);

/// The error of a model whose family is not known names what its checkpoint stores and how an
/// answer is come by; other errors stay as they are.
Error named_ways(Error error, const ModelSource& source);

}  // namespace memtape::answer
