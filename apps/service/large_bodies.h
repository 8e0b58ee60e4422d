// SPDX-License-Identifier: Apache-2.0
// LargeBodies: bounds the memory that the bodies of requests take while they arrive and wait. Every
// connection may send a small body at any time. What is longer needs one of a few places: a
// connection that gets none is not read further, so that the rest of its body stays with its client,
// and goes on when a place is free. A place is held until the body has been handed to the process
// that answers it. A client that takes too long over its body while others stand in line loses its
// connection.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>

struct bufferevent;
struct event;
struct event_base;

namespace memtape::service {

class LargeBodies {
 public:
  /// Dropped when the body is no longer held.
  using Place = std::shared_ptr<void>;

  explicit LargeBodies(event_base* base);
  ~LargeBodies();
  LargeBodies(const LargeBodies&) = delete;
  LargeBodies& operator=(const LargeBodies&) = delete;

  /// A connection whose bytes are counted, for a server to read from.
  bufferevent* connection();

  /// The whole request has arrived: its place, if it has one. The connection counts anew.
  Place arrived(const bufferevent* connection);

  /// Lets go of connections that are closed, and closes those that are too slow. To be called
  /// several times a second.
  void look_after();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched;

  void received(Watched& watched, std::size_t bytes);
  void give_place(Watched& watched);
  void give_back();
  void let_next_in();

  event_base* base_;
  std::size_t taken_ = 0;
  std::list<Watched> watched_;
  /// Places that outlive this object give nothing back.
  std::shared_ptr<LargeBodies*> self_ = std::make_shared<LargeBodies*>(this);
};

}  // namespace memtape::service
