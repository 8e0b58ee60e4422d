// SPDX-License-Identifier: Apache-2.0
// TimeQuestion: a question about a layout that is given by sizes alone, as one JSON object. It says
// what is computed (a model's name or its configuration), on which machine, and the fields of
// TrainSetup or ServeSetup by name. Nothing is derived from a framework's recipe, so a question can
// hold what no recipe can express yet.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/config.h"
#include "time/step_time.h"

namespace memtape::time {

struct TimeQuestion {
  std::string model;        ///< a name, a folder or a file; "" if `config` is set
  std::string config;       ///< config.json as text
  std::int64_t layers = 0;  ///< the number of layers that count, if not all of the model's do
  std::string gpu;
  MachineOptions machine;
  bool serves = false;
  TrainSetup train;
  ServeSetup serve;
};

/// An unknown key, a value out of range and contradictory sizes are errors.
Result<TimeQuestion> read_time_question(std::string_view json, const std::string& where);

/// The shape of the question's model: of its own configuration, or of `text`, the configuration
/// that was found under the model's name.
Result<ModelShape> shape_of(const TimeQuestion& question, std::string_view text);

}  // namespace memtape::time
