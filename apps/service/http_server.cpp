// SPDX-License-Identifier: Apache-2.0
#include "http_server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <list>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <event2/listener.h>
#include <fmt/format.h>

#include "answer/exit_code.h"
#include "large_bodies.h"

namespace memtape::service {
namespace {

constexpr int kIdleSeconds = 30;
constexpr ev_ssize_t kHeaderBytes = 16 << 10;
constexpr timeval kLookAfter{0, 200'000};
/// As nginx counts a request whose client went away. Nobody reads it.
constexpr int kClientWentAway = 499;

std::string_view method_of(evhttp_request* request) {
  switch (evhttp_request_get_command(request)) {
    case EVHTTP_REQ_GET: return "GET";
    case EVHTTP_REQ_POST: return "POST";
    default: return "";
  }
}

HttpRequest read(evhttp_request* request) {
  HttpRequest read{.method = std::string(method_of(request)), .path = "/", .body = {}};
  const evhttp_uri* uri = evhttp_request_get_evhttp_uri(request);
  const char* path = uri ? evhttp_uri_get_path(uri) : nullptr;
  if (path && *path) {
    std::size_t length = 0;
    const std::unique_ptr<char, void (*)(void*)> plain(evhttp_uridecode(path, 0, &length),
                                                       &std::free);
    if (plain) read.path.assign(plain.get(), length);
  }
  evbuffer* body = evhttp_request_get_input_buffer(request);
  read.body.resize(evbuffer_get_length(body));
  evbuffer_remove(body, read.body.data(), read.body.size());  // which frees what was copied
  return read;
}

void send(evhttp_request* request, const HttpResponse& response) {
  evkeyvalq* headers = evhttp_request_get_output_headers(request);
  evhttp_add_header(headers, "Content-Type", response.type.c_str());
  evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
  evhttp_add_header(headers, "Memtape-Exit-Code", std::to_string(response.exit_code).c_str());
  evbuffer* body = evhttp_request_get_output_buffer(request);
  evbuffer_add(body, response.body.data(), response.body.size());
  evhttp_send_reply(request, response.status, nullptr, nullptr);
}

/// Whether the client closed its side of the connection, after which it gets no answer.
bool has_gone(evhttp_request* request) {
  evhttp_connection* connection = evhttp_request_get_connection(request);
  if (!connection) return true;
  char one = 0;
  const int socket = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
  const ssize_t count = ::recv(socket, &one, 1, MSG_PEEK | MSG_DONTWAIT);
  return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
}

timeval time_until(AnswerProcess::Clock::time_point deadline) {
  using std::chrono::microseconds;
  const auto left = std::chrono::ceil<microseconds>(deadline - AnswerProcess::Clock::now());
  const std::int64_t us = std::max<std::int64_t>(left.count(), 1);
  timeval until{};  // whose parts have other types on other systems
  until.tv_sec = static_cast<decltype(until.tv_sec)>(us / 1'000'000);
  until.tv_usec = static_cast<decltype(until.tv_usec)>(us % 1'000'000);
  return until;
}

}  // namespace

/// The event loop and what it keeps: the requests whose answers are being computed, and those in
/// line.
class HttpServer::Loop {
 public:
  Loop(HttpSettings settings, Handler handler)
      : settings_(std::move(settings)), handler_(std::move(handler)) {}

  Result<void> listen() {
    base_.reset(event_base_new());
    http_.reset(base_ ? evhttp_new(base_.get()) : nullptr);
    if (!http_) return failed("cannot make an event loop");
    bodies_ = std::make_unique<LargeBodies>(base_.get());
    evhttp_set_bevcb(
        http_.get(),
        [](event_base*, void* self) { return static_cast<Loop*>(self)->bodies_->connection(); },
        this);
    evhttp_set_allowed_methods(http_.get(), EVHTTP_REQ_GET | EVHTTP_REQ_POST);
    evhttp_set_max_body_size(http_.get(), static_cast<ev_ssize_t>(settings_.request_bytes));
    evhttp_set_max_headers_size(http_.get(), kHeaderBytes);
    evhttp_set_timeout(http_.get(), kIdleSeconds);
    evhttp_set_gencb(
        http_.get(), [](evhttp_request* r, void* self) { static_cast<Loop*>(self)->arrived(r); },
        this);
    errno = 0;
    evhttp_bound_socket* socket = evhttp_bind_socket_with_handle(
        http_.get(), settings_.host.c_str(), static_cast<ev_uint16_t>(settings_.port));
    if (!socket) return failed(errno ? std::strerror(errno) : "cannot be listened on");
    port_ = port_of(evhttp_bound_socket_get_fd(socket));
    for (const int signal : {SIGINT, SIGTERM}) stop_at(signal);
    look_after_.reset(event_new(
        base_.get(), -1, EV_PERSIST,
        [](evutil_socket_t, short, void* self) { static_cast<Loop*>(self)->look_after(); }, this));
    event_add(look_after_.get(), &kLookAfter);
    ::signal(SIGPIPE, SIG_IGN);
    return {};
  }

  int port() const { return port_; }
  void run() { event_base_dispatch(base_.get()); }

 private:
  struct Freed {
    void operator()(event_base* base) const { event_base_free(base); }
    void operator()(evhttp* http) const { evhttp_free(http); }
    void operator()(event* one) const { event_free(one); }
  };
  using Event = std::unique_ptr<event, Freed>;

  struct Waiting {
    evhttp_request* request;
    LargeBodies::Place place;  ///< that of the body, which the work holds
    AnswerProcess::Work work;
  };

  /// A request whose answer is being computed. `request` is null when its client went away.
  struct Running {
    Loop* loop;
    evhttp_request* request;
    AnswerProcess process;
    Event arrives;
    std::list<Running>::iterator self;
  };

  tl::unexpected<Error> failed(std::string what) const {
    return memtape::bad_input(std::move(what), fmt::format("{}:{}", settings_.host, settings_.port),
                              "--host and --port name another address");
  }

  static int port_of(int socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
    if (address.ss_family == AF_INET6)
      return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
    return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  }

  void stop_at(int signal) {
    const auto stop = [](evutil_socket_t, short, void* base) {
      event_base_loopbreak(static_cast<event_base*>(base));
    };
    signals_.emplace_back(evsignal_new(base_.get(), signal, stop, base_.get()));
    event_add(signals_.back().get(), nullptr);
  }

  void arrived(evhttp_request* request) {
    evhttp_connection* connection = evhttp_request_get_connection(request);
    LargeBodies::Place place = bodies_->arrived(evhttp_connection_get_bufferevent(connection));
    auto handled = handler_(read(request));
    if (const auto* response = std::get_if<HttpResponse>(&handled)) return send(request, *response);
    if (waiting_.size() >= settings_.most_waiting)
      return send(request, response_of({ErrorKind::unsupported, "too many requests are waiting",
                                        "serve-http", "ask again later"},
                                       503));
    evhttp_request_own(request);
    waiting_.push_back(
        {request, std::move(place), std::move(std::get<AnswerProcess::Work>(handled))});
    start_waiting();
  }

  void start_waiting() {
    while (!waiting_.empty() && running_.size() < static_cast<std::size_t>(settings_.workers)) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      has_gone(next.request) ? drop(next.request) : start(std::move(next));
    }
  }

  /// Nothing is computed, or goes on being computed, for a client that went away.
  void look_after() {
    bodies_->look_after();
    for (auto at = waiting_.begin(); at != waiting_.end();) {
      const bool gone = has_gone(at->request);
      if (gone) drop(at->request);
      at = gone ? waiting_.erase(at) : std::next(at);
    }
    for (auto at = running_.begin(); at != running_.end();) {
      const bool gone = has_gone(at->request);
      if (gone) drop(at->request);
      at = gone ? running_.erase(at) : std::next(at);
    }
    start_waiting();
  }

  void drop(evhttp_request* request) { reply(request, {.status = kClientWentAway, .body = {}}); }

  void start(Waiting next) {
    Result<AnswerProcess> process = AnswerProcess::start(next.work, settings_.limits);
    if (!process) return reply(next.request, response_of(process.error(), 500));
    running_.push_front({this, next.request, std::move(*process), nullptr, {}});
    Running& running = running_.front();
    running.self = running_.begin();
    running.arrives.reset(event_new(
        base_.get(), running.process.descriptor(), EV_READ,
        [](evutil_socket_t, short what, void* one) {
          progressed(*static_cast<Running*>(one), what);
        },
        &running));
    await(running);
  }

  static void await(Running& running) {
    const timeval left = time_until(running.process.deadline());
    event_add(running.arrives.get(), &left);
  }

  static void progressed(Running& running, short what) {
    const bool late = (what & EV_TIMEOUT) != 0;
    if (!late && running.process.take()) return await(running);
    Loop& loop = *running.loop;
    const Result<answer::Answered> answered = running.process.finish();
    evhttp_request* request = running.request;
    loop.running_.erase(running.self);
    loop.reply(request,
               answered ? response_of(*answered) : response_of(answered.error(), late ? 504 : 500));
    loop.start_waiting();
  }

  void reply(evhttp_request* request, const HttpResponse& response) {
    if (evhttp_request_get_connection(request)) return send(request, response);
    evhttp_request_free(request);  // the client went away
  }

  HttpSettings settings_;
  Handler handler_;
  int port_ = 0;
  std::unique_ptr<event_base, Freed> base_;
  std::unique_ptr<LargeBodies> bodies_;
  std::unique_ptr<evhttp, Freed> http_;  ///< before `bodies_` and their connections
  std::vector<Event> signals_;
  Event look_after_;
  std::deque<Waiting> waiting_;
  std::list<Running> running_;
};

HttpServer::HttpServer(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}
HttpServer::HttpServer(HttpServer&&) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::listen(HttpSettings settings, Handler handler) {
  auto loop = std::make_unique<Loop>(std::move(settings), std::move(handler));
  if (const Result<void> listening = loop->listen(); !listening)
    return tl::unexpected(listening.error());
  return HttpServer(std::move(loop));
}

int HttpServer::port() const { return loop_->port(); }

void HttpServer::run() { loop_->run(); }

HttpResponse response_of(const answer::Answered& answered) {
  const int status = answered.exit_code == answer::ExitCode::bad_input        ? 400
                     : answered.exit_code == answer::ExitCode::internal_error ? 500
                                                                              : 200;
  return {.status = status, .body = answered.text, .exit_code = answered.exit_code};
}

HttpResponse response_of(const Error& error, int status) {
  HttpResponse response = response_of(answer::answer_of(error));
  response.status = status;
  return response;
}

}  // namespace memtape::service
