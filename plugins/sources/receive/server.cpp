// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/server.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atalaya/plugin.hpp>
#include <chrono>
#include <cstdio>

namespace atalaya::receive {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr auto kWatchEvery = std::chrono::milliseconds(250);
constexpr unsigned kOwnFiles = 64;  // descriptors that the agent needs beside the connections

int64_t monotonic() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

std::string_view header(MHD_Connection *connection, const char *name) {
  const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// ?summary, ?summary= and ?summary=true are the same.
bool has_flag(MHD_Connection *connection, const char *name) {
  const char *value = nullptr;
  size_t size = 0;
  return MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, name, std::string_view(name).size(), &value, &size) ==
         MHD_YES;
}

std::optional<Form> form_of(std::string_view url) {
  if (url == "/api/put") return Form::put;
  if (url == "/cpu" || url == "/api/stacks") return Form::stacks;
  if (url == "/api/jsonlines") return Form::lines;
  return std::nullopt;
}

// So many connections, and no more than the limit of open files leaves room for.
unsigned connection_limit(unsigned wanted, const Server::Notice &notice) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= rlim_t{wanted} + kOwnFiles) return wanted;
  const auto possible = static_cast<unsigned>(std::max<rlim_t>(files.rlim_cur, kOwnFiles + 16) - kOwnFiles);
  notice("max_connections: the limit of open files allows " + std::to_string(possible) + " of " + std::to_string(wanted) +
         "; raise it (LimitNOFILE= of the service, ulimit -n) or lower max_connections");
  return possible;
}

}  // namespace

// What a connection is doing, and since when, for the watcher.
struct Server::Connection {
  enum class Doing : uint8_t { opening, receiving, waiting, idle };
  int socket = -1;
  std::atomic<Doing> doing{Doing::opening};
  std::atomic<int64_t> since{0};

  void now(Doing what) {
    since = monotonic();
    doing = what;
  }
};

// A request while it is received and answered.
struct Server::Call {
  std::shared_ptr<Request> request = std::make_shared<Request>();
  Connection *connection = nullptr;
  std::optional<Answer> refusal;  // known before the body is there: the rest of it is read and thrown away
  size_t held = 0;                // counted in held_
  bool handed_on = false;
};

Server::Server(const ServerOptions &options, Tokens *tokens, Take take, Notice notice)
    : options_(options), tokens_(tokens), take_(std::move(take)), notice_(std::move(notice)) {}

Server::~Server() {
  stop();
}

void Server::start(Listener listener) {
  const unsigned connections = connection_limit(options_.max_connections, notice_);
  const unsigned threads = std::min(options_.threads, connections);
  listener_ = listener.socket.release();
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
  if (!options_.certificate.empty()) flags |= MHD_USE_TLS;
  const auto seconds = static_cast<unsigned>((options_.idle_timeout_ns + kNanosPerSecond - 1) / kNanosPerSecond);
  MHD_OptionItem items[] = {
      {MHD_OPTION_LISTEN_SOCKET, listener_, nullptr},
      {MHD_OPTION_CONNECTION_LIMIT, static_cast<intptr_t>(connections), nullptr},
      {MHD_OPTION_CONNECTION_TIMEOUT, static_cast<intptr_t>(seconds), nullptr},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(options_.max_header), nullptr},
      // A pool of one thread is the daemon itself.
      {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, static_cast<intptr_t>(threads), nullptr},
      {MHD_OPTION_END, 0, nullptr},
  };
  std::vector<MHD_OptionItem> tls;
  if (!options_.certificate.empty()) {
    const auto text = [](const char *value) { return const_cast<char *>(value); };
    tls.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, text(options_.certificate.c_str())});
    tls.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, text(options_.key.c_str())});
    tls.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, text("NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2")});
  }
  tls.push_back({MHD_OPTION_END, 0, nullptr});
  daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, &Server::on_request, this, MHD_OPTION_NOTIFY_COMPLETED,
                             &Server::on_completed, this, MHD_OPTION_NOTIFY_CONNECTION, &Server::on_connection, this,
                             MHD_OPTION_ARRAY, items, MHD_OPTION_ARRAY, tls.data(), MHD_OPTION_END);
  if (daemon_ == nullptr) {
    ::close(std::exchange(listener_, -1));
    throw Failure(options_.certificate.empty() ? Code::retry : Code::bad_config,
                  options_.certificate.empty()
                      ? "the HTTP server does not start; too few threads or open files are allowed"
                      : "the HTTPS server does not start: certificate and key must be PEM and belong together");
  }
  stopping_ = false;
  watcher_ = std::thread([this] { watch(); });
}

void Server::quiesce() {
  if (daemon_ == nullptr || listener_ < 0) return;
  const int socket = MHD_quiesce_daemon(daemon_);
  if (socket >= 0) ::close(socket);
  listener_ = -1;
}

void Server::stop() {
  if (daemon_ == nullptr) return;
  wait_for_answers();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  watcher_.join();
  MHD_stop_daemon(std::exchange(daemon_, nullptr));
  listener_ = -1;
}

void Server::wait_for_answers() {
  constexpr auto kMoment = std::chrono::seconds(1);
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, kMoment, [this] {
    return std::none_of(connections_.begin(), connections_.end(),
                        [](const Connection *connection) { return connection->doing == Connection::Doing::waiting; });
  });
}

void Server::on_connection(void *self, MHD_Connection *connection, void **context, MHD_ConnectionNotificationCode what) {
  auto &server = *static_cast<Server *>(self);
  if (what == MHD_CONNECTION_NOTIFY_STARTED) {
    auto made = std::make_unique<Connection>();
    made->socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    made->now(Connection::Doing::opening);
    const std::lock_guard lock(server.mutex_);
    server.connections_.insert(made.get());
    *context = made.release();
    return;
  }
  // Under the lock, so that the watcher never shuts down a socket that is another's by now.
  const std::lock_guard lock(server.mutex_);
  const std::unique_ptr<Connection> gone(static_cast<Connection *>(*context));
  server.connections_.erase(gone.get());
}

MHD_Result Server::on_request(void *self, MHD_Connection *connection, const char *url, const char *method, const char *,
                              const char *data, size_t *size, void **context) {
  auto &server = *static_cast<Server *>(self);
  try {
    if (*context == nullptr) return server.begin(connection, url, method, context);
    auto &call = *static_cast<Call *>(*context);
    if (*size > 0) {
      server.gather(call, {data, *size});
      *size = 0;
      return MHD_YES;
    }
    if (call.handed_on) {
      const auto answer = call.request->answered();
      return answer ? send(connection, *answer) : MHD_NO;
    }
    return call.refusal ? send(connection, *call.refusal) : server.hand_on(connection, call);
  } catch (const std::exception &) {  // out of memory: this connection ends, the others go on
    return MHD_NO;
  }
}

MHD_Result Server::begin(MHD_Connection *connection, const char *url, const char *method, void **context) {
  auto call = std::make_unique<Call>();
  call->connection =
      static_cast<Connection *>(MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
  call->connection->now(Connection::Doing::receiving);
  Answer refusal = check(connection, url, method, *call);
  if (refusal.status != 0) call->refusal = std::move(refusal);
  const bool asks_first = !header(connection, MHD_HTTP_HEADER_EXPECT).empty();
  Call &begun = *call;
  *context = call.release();
  // Who waits for a word before it sends the body is told now; others get their answer when they have sent it and listen.
  return begun.refusal && asks_first ? send(connection, *begun.refusal) : MHD_YES;
}

// What is wrong with the request before its body is there; status 0: nothing.
Answer Server::check(MHD_Connection *connection, std::string_view url, std::string_view method, Call &call) {
  if (url == "/health" && (method == "GET" || method == "HEAD")) return {200, R"({"status":"ok"})", 0};
  const auto form = form_of(url);
  if (!form) return error_answer(404, "Endpoint not found", "The requested endpoint was not found");
  if (tokens_ != nullptr && !tokens_->allow(header(connection, MHD_HTTP_HEADER_AUTHORIZATION)))
    return error_answer(401, "Not authorized", "Send the header \"Authorization: Bearer TOKEN\" with a token that is known here");
  if (method != "POST" && !(method == "PUT" && *form == Form::lines))
    return error_answer(405, "Method not allowed",
                        "The HTTP method [" + std::string(method) + "] is not permitted for this endpoint");
  const auto encoding = encoding_from_name(header(connection, MHD_HTTP_HEADER_CONTENT_ENCODING));
  if (!encoding) return error_answer(415, "Unsupported Content-Encoding", "gzip, deflate, zstd and identity are known");
  Request &request = *call.request;
  request.form = *form;
  request.encoding = *encoding;
  request.summary = has_flag(connection, "summary");
  request.details = has_flag(connection, "details");
  if (const char *timeout = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "sync_timeout"); timeout != nullptr)
    if (const auto ms = parse_integer(timeout); ms && *ms > 0) request.sync_timeout_ms = *ms;
  return {};
}

void Server::gather(Call &call, std::string_view data) {
  if (call.refusal) return;
  const auto refuse = [&](Answer answer) {
    call.refusal = std::move(answer);
    held_ -= std::exchange(call.held, 0);
    std::string().swap(call.request->body);
  };
  std::string &body = call.request->body;
  if (body.size() + data.size() > options_.max_body)
    return refuse(
        error_answer(413, "Request too large", "A body may have " + std::to_string(options_.max_body) + " bytes as sent"));
  call.held += data.size();
  if (held_ += data.size(); held_ > options_.max_waiting) return refuse(throttle("Too many requests wait to be stored"));
  body += data;
}

MHD_Result Server::hand_on(MHD_Connection *connection, Call &call) {
  call.handed_on = true;
  call.connection->now(Connection::Doing::waiting);
  MHD_suspend_connection(connection);
  call.request->wait(connection);
  call.held = 0;  // from now on the taker's
  if (auto refused = take_(call.request); refused) call.request->answer(std::move(*refused));
  return MHD_YES;
}

MHD_Result Server::send(MHD_Connection *connection, const Answer &answer) {
  MHD_Response *response =
      MHD_create_response_from_buffer(answer.body.size(), const_cast<char *>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  if (!answer.body.empty()) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, "application/json; charset=UTF-8");
  if (answer.retry_after > 0)
    MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, std::to_string(answer.retry_after).c_str());
  if (answer.status == 401) MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"atalaya\"");
  if (answer.status == 405) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "POST");
  const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return queued;
}

void Server::on_completed(void *self, MHD_Connection *, void **context, MHD_RequestTerminationCode) {
  const std::unique_ptr<Call> call(static_cast<Call *>(std::exchange(*context, nullptr)));
  if (!call) return;
  auto &server = *static_cast<Server *>(self);
  server.held_ -= call->held;
  const std::lock_guard lock(server.mutex_);
  call->connection->now(Connection::Doing::idle);
  server.wake_.notify_all();
}

// An inactivity limit alone would let a byte now and then hold a connection for ever: this is the limit for the whole.
void Server::cut_slow(int64_t now) {
  const std::lock_guard lock(mutex_);
  for (const Connection *connection : connections_) {
    const Connection::Doing doing = connection->doing;
    if (doing == Connection::Doing::waiting) continue;  // for us
    const int64_t limit = options_.request_timeout_ns + (doing == Connection::Doing::idle ? options_.idle_timeout_ns : 0);
    if (now - connection->since > limit) ::shutdown(connection->socket, SHUT_RDWR);
  }
}

void Server::watch() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, kWatchEvery, [this] { return stopping_; })) return;
    }
    cut_slow(monotonic());
    if (tokens_ == nullptr) continue;
    if (const std::string wrong = tokens_->refresh(); !wrong.empty())
      notice_("tokens: " + wrong + "; those known so far still hold");
  }
}

}  // namespace atalaya::receive
