// SPDX-License-Identifier: Apache-2.0
// A serving request: the options of `memtape serve`, given their meaning. The serve command, plans
// of servers and the scoreboard all go through here.
#pragma once

#include "answer/options.h"
#include "answer/outside.h"
#include "serving/serve_engine.h"

namespace memtape::answer {

/// An engine, and what it is asked.
struct AskedServer {
  const ServeEngine& engine;
  ServeRequest request;
};

/// A request of that model, which must outlive it, before anything is asked.
ServeRequest served(const ModelSource& source);

/// `request`: the model that is served and those beside it.
Result<AskedServer> asked_server(const ServeCommand& command, ServeRequest request,
                                 const Outside& outside);
Result<ServeAnswer> answer_serve(const ServeCommand& command, ServeRequest request,
                                 const Outside& outside);

}  // namespace memtape::answer
