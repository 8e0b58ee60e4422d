// SPDX-License-Identifier: Apache-2.0
#include "large_bodies.h"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace memtape::service {
namespace {

constexpr std::size_t kSmallBody = std::size_t{64} << 10, kPlaces = 3;
constexpr std::chrono::seconds kPatience{5};

/// A closed connection has lost its callbacks, and lives as long as it is watched.
bool is_closed(bufferevent* connection) {
  bufferevent_event_cb ended = nullptr;
  bufferevent_getcb(connection, nullptr, nullptr, &ended, nullptr);
  return ended == nullptr;
}

void give_memory_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

}  // namespace

struct LargeBodies::Watched {
  LargeBodies* owner;
  bufferevent* connection;
  std::size_t received = 0;
  bool has_place = false, stands_in_line = false;
  Clock::time_point since = {};
};

LargeBodies::LargeBodies(event_base* base) : base_(base) {}

LargeBodies::~LargeBodies() {
  *self_ = nullptr;
  for (const Watched& watched : watched_) bufferevent_decref(watched.connection);
}

bufferevent* LargeBodies::connection() {
  bufferevent* made = bufferevent_socket_new(base_, -1, 0);
  if (!made) return nullptr;
  bufferevent_incref(made);
  watched_.push_back({.owner = this, .connection = made});
  evbuffer_add_cb(
      bufferevent_get_input(made),
      [](evbuffer*, const evbuffer_cb_info* change, void* one) {
        auto& watched = *static_cast<Watched*>(one);
        if (change->n_added > 0) watched.owner->received(watched, change->n_added);
      },
      &watched_.back());
  return made;
}

void LargeBodies::received(Watched& watched, std::size_t bytes) {
  watched.received += bytes;
  if (watched.received <= kSmallBody || watched.has_place) return;
  if (taken_ < kPlaces) return give_place(watched);
  watched.stands_in_line = true;
  bufferevent_disable(watched.connection, EV_READ);
}

void LargeBodies::give_place(Watched& watched) {
  ++taken_;
  watched.has_place = true;
  watched.stands_in_line = false;
  watched.since = Clock::now();
}

LargeBodies::Place LargeBodies::arrived(const bufferevent* connection) {
  const auto found = std::ranges::find(watched_, connection, &Watched::connection);
  if (found == watched_.end()) return nullptr;
  found->received = 0;
  found->stands_in_line = false;
  if (!std::exchange(found->has_place, false)) return nullptr;
  return {nullptr, [self = self_](void*) {
            if (*self) (*self)->give_back();
          }};
}

void LargeBodies::give_back() {
  --taken_;
  give_memory_back();
  let_next_in();
}

void LargeBodies::let_next_in() {
  for (Watched& watched : watched_) {
    if (taken_ == kPlaces) return;
    if (!watched.stands_in_line || is_closed(watched.connection)) continue;
    give_place(watched);
    bufferevent_enable(watched.connection, EV_READ);
  }
}

void LargeBodies::look_after() {
  const bool is_line = std::ranges::any_of(watched_, &Watched::stands_in_line);
  bool has_ended = false;
  for (auto at = watched_.begin(); at != watched_.end();) {
    if (!is_closed(at->connection)) {
      // A closed one still names its socket, whose number may be that of another client by now.
      const bool is_late = at->has_place && is_line && Clock::now() - at->since > kPatience;
      if (is_late) ::shutdown(bufferevent_getfd(at->connection), SHUT_RDWR);
      ++at;
      continue;
    }
    if (at->has_place) --taken_;
    has_ended = has_ended || at->has_place;
    bufferevent_decref(at->connection);
    at = watched_.erase(at);
  }
  if (has_ended) give_memory_back();
  let_next_in();
}

}  // namespace memtape::service
