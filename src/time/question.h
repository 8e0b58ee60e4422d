// SPDX-License-Identifier: Apache-2.0
// TimeQuestion: a layout asked about by its sizes alone, as one JSON object: what it computes (a
// model's name or its configuration), on which machine, and the fields of TrainSetup or ServeSetup
// by name. Nothing is worked out from a framework's recipe, so it takes what no recipe can say yet.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/config.h"
#include "time/step_time.h"

namespace memtape::time {

struct TimeQuestion {
  std::string model;        ///< name, folder or file; "" where `config` is there
  std::string config;       ///< config.json as text
  std::int64_t layers = 0;  ///< so many of the model's, where they are not all
  std::string gpu;
  MachineOptions machine;
  bool serves = false;
  TrainSetup train;
  ServeSetup serve;
};

/// An unknown key, a value out of range and sizes that contradict each other are errors.
Result<TimeQuestion> read_time_question(std::string_view json, const std::string& where);

/// The model that it is about: its own configuration, or `text` that the model's name led to.
Result<ModelShape> shape_of(const TimeQuestion& question, std::string_view text);

}  // namespace memtape::time
