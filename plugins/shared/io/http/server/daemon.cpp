// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/server/daemon.h"

#include <poll.h>
#include <strings.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/now.h"
#include "plugins/shared/io/http/server/peer.h"

namespace atalaya::http_server {
namespace {

using core::monotonic;

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr auto kWatchEvery = std::chrono::milliseconds(250);
constexpr unsigned kOwnFiles = 64;  // descriptors that the agent needs in addition to connections

// The maximum connections: the configured number, or less if the limit of open files is lower.
unsigned connection_limit(unsigned wanted, const Daemon::Notice &notice) {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= rlim_t{wanted} + kOwnFiles) return wanted;
  const auto possible = static_cast<unsigned>(std::max<rlim_t>(files.rlim_cur, kOwnFiles + 16) - kOwnFiles);
  notice("max_connections: the limit of open files allows " + std::to_string(possible) + " of " + std::to_string(wanted) +
         "; raise it (LimitNOFILE= of the service, ulimit -n) or lower max_connections");
  return possible;
}

// Whether the header Host is allowed: an address or a name without a domain. This protects against DNS rebinding by pages of other
// sites.
bool is_local_name(std::string_view host) {
  if (host.starts_with('[')) return true;
  host = host.substr(0, host.find(':'));
  return host.find('.') == std::string_view::npos || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Browsers send the header Origin, "https://name:port", with all requests that change something.
bool is_of_site(std::string_view origin, std::string_view host) {
  if (origin.empty()) return true;
  const size_t name = origin.find("://");
  return name != std::string_view::npos && origin.substr(name + 3) == host;
}

// More than one header Content-Length is an error (RFC 9112, section 6.3).
int lengths_of_body(MHD_Connection *connection) {
  int lengths = 0;
  const auto count = [](void *sum, enum MHD_ValueKind, const char *key, const char *) {
    if (::strcasecmp(key, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 || ::strcasecmp(key, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0)
      ++*static_cast<int *>(sum);
    return MHD_YES;
  };
  MHD_get_connection_values(connection, MHD_HEADER_KIND, count, &lengths);
  return lengths;
}

}  // namespace

std::string_view header(MHD_Connection *connection, const char *name) {
  const char *value = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// The state of a connection and the start time of the state, for the watcher thread.
struct Daemon::Connection {
  enum class Doing : uint8_t { opening, receiving, waiting, answering, idle };
  int socket = -1;
  std::atomic<Doing> doing{Doing::opening};
  std::atomic<int64_t> since{0};
  std::atomic<bool> client_left{false};

  void now(Doing next) {
    since = monotonic();
    doing = next;
  }
};

Daemon::Daemon(const Options &options, Tokens *tokens, Handler &handler, Notice notice)
    : options_(options), tokens_(tokens), handler_(handler), notice_(std::move(notice)) {}

Daemon::~Daemon() {
  stop();
}

void Daemon::start(Listener listener) {
  const unsigned connections = connection_limit(options_.max_connections, notice_);
  const unsigned threads = std::min(options_.threads, connections);
  const int socket = listener.socket.release();  // libmicrohttpd closes it
  local_ = !listener.reachable && tokens_ == nullptr;
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC;
  if (!options_.certificate.empty()) flags |= MHD_USE_TLS;
  const auto seconds = static_cast<unsigned>((options_.idle_timeout_ns + kNanosPerSecond - 1) / kNanosPerSecond);
  MHD_OptionItem items[] = {
      {MHD_OPTION_LISTEN_SOCKET, socket, nullptr},
      {MHD_OPTION_CONNECTION_LIMIT, static_cast<intptr_t>(connections), nullptr},
      {MHD_OPTION_PER_IP_CONNECTION_LIMIT, static_cast<intptr_t>(options_.half_per_address ? (connections + 1) / 2 : 0), nullptr},
      {MHD_OPTION_CONNECTION_TIMEOUT, static_cast<intptr_t>(seconds), nullptr},
      {MHD_OPTION_CONNECTION_MEMORY_LIMIT, static_cast<intptr_t>(options_.max_header), nullptr},
      // A pool of one thread is not allowed: the thread of the daemon is used.
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
  daemon_ = MHD_start_daemon(flags, 0, nullptr, nullptr, &Daemon::on_request, this, MHD_OPTION_NOTIFY_COMPLETED,
                             &Daemon::on_completed, this, MHD_OPTION_NOTIFY_CONNECTION, &Daemon::on_connection, this,
                             MHD_OPTION_ARRAY, items, MHD_OPTION_ARRAY, tls.data(), MHD_OPTION_END);
  if (daemon_ == nullptr) {
    ::close(socket);
    throw Failure(Code::retry, "the server does not start; too few threads or open files are allowed");
  }
  stopping_ = false;
  watcher_ = std::thread([this] { watch(); });
}

void Daemon::quiesce() {
  if (daemon_ == nullptr || quiet_listener_) return;
  // libmicrohttpd aborts the process if the socket is closed before its threads have stopped.
  quiet_listener_ = core::Descriptor(MHD_quiesce_daemon(daemon_));
  if (quiet_listener_) ::shutdown(quiet_listener_.get(), SHUT_RDWR);
}

void Daemon::stop() {
  if (daemon_ == nullptr) return;
  wait_for_answers();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  watcher_.join();
  MHD_stop_daemon(std::exchange(daemon_, nullptr));
  quiet_listener_.reset();
}

void Daemon::wait_for_answers() {
  constexpr auto kMoment = std::chrono::seconds(1);
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, kMoment, [this] {
    return std::none_of(connections_.begin(), connections_.end(), [](const Connection *connection) {
      const Connection::Doing doing = connection->doing;
      return doing == Connection::Doing::waiting || doing == Connection::Doing::answering;
    });
  });
}

void Daemon::stop_time_limit(MHD_Connection *connection) {
  connection_of(connection).now(Connection::Doing::waiting);
}

void Daemon::start_time_limit(MHD_Connection *connection) {
  connection_of(connection).now(Connection::Doing::answering);
}

const std::atomic<bool> &Daemon::client_left(MHD_Connection *connection) {
  return connection_of(connection).client_left;
}

int Daemon::socket_of(MHD_Connection *connection) {
  return connection_of(connection).socket;
}

std::optional<Daemon::Refusal> Daemon::refusal_to_write(MHD_Connection *connection) const {
  if (tokens_ != nullptr) return std::nullopt;
  const std::optional<uid_t> user = user_of_peer(socket_of(connection));
  if (user && (*user == 0 || *user == ::geteuid())) return std::nullopt;
  return Refusal{403, "Without tokens only the user of this server may change data; start it with tokens, or use the command line"};
}

std::optional<Daemon::Refusal> Daemon::refusal(MHD_Connection *connection, std::string_view method, bool needs_token) const {
  const std::string_view host = header(connection, MHD_HTTP_HEADER_HOST);
  if (lengths_of_body(connection) > 1) return Refusal{400, "Send one Content-Length, or Transfer-Encoding without it"};
  if (needs_token && tokens_ != nullptr && !tokens_->allow(header(connection, MHD_HTTP_HEADER_AUTHORIZATION)))
    return Refusal{401, "Send the header \"Authorization: Bearer TOKEN\" with a valid token"};
  if (local_ && !is_local_name(host)) return Refusal{403, "This server accepts local requests only: use 127.0.0.1 or localhost"};
  if (method != MHD_HTTP_METHOD_GET && method != MHD_HTTP_METHOD_HEAD && !is_of_site(header(connection, "Origin"), host))
    return Refusal{403, "Pages of other sites may not send requests to this server"};
  return std::nullopt;
}

void Daemon::add_headers(MHD_Response *response, unsigned status) {
  if (status == 400) MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (status == 401) MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer realm=\"atalaya\"");
}

Daemon::Connection &Daemon::connection_of(MHD_Connection *connection) {
  return *static_cast<Connection *>(MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
}

void Daemon::on_connection(void *self, MHD_Connection *connection, void **context, MHD_ConnectionNotificationCode event) {
  auto &daemon = *static_cast<Daemon *>(self);
  if (event == MHD_CONNECTION_NOTIFY_STARTED) {
    auto made = std::make_unique<Connection>();
    made->socket = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    made->now(Connection::Doing::opening);
    const std::lock_guard lock(daemon.mutex_);
    daemon.connections_.insert(made.get());
    *context = made.release();
    return;
  }
  // Under the lock, so that the watcher never shuts down a socket whose number was reused.
  const std::lock_guard lock(daemon.mutex_);
  const std::unique_ptr<Connection> ended(static_cast<Connection *>(*context));
  daemon.connections_.erase(ended.get());
}

MHD_Result Daemon::on_request(void *self, MHD_Connection *connection, const char *url, const char *method, const char *,
                              const char *data, size_t *size, void **context) {
  try {
    if (*context == nullptr) connection_of(connection).now(Connection::Doing::receiving);
    return static_cast<Daemon *>(self)->handler_.on_request(connection, url, method, data, size, context);
  } catch (const std::exception &) {  // out of memory: this connection ends, others continue
    return MHD_NO;
  }
}

void Daemon::on_completed(void *self, MHD_Connection *connection, void **context, MHD_RequestTerminationCode) {
  void *const call = std::exchange(*context, nullptr);
  if (call == nullptr) return;
  auto &daemon = *static_cast<Daemon *>(self);
  daemon.handler_.on_completed(call);
  const std::lock_guard lock(daemon.mutex_);
  connection_of(connection).now(Connection::Doing::idle);
  daemon.wake_.notify_all();
}

// Closes connections whose request takes too long. An inactivity timeout is not enough: a client could keep a connection by sending
// single bytes.
void Daemon::close_slow(int64_t now) {
  const std::lock_guard lock(mutex_);
  for (const Connection *connection : connections_) {
    const Connection::Doing doing = connection->doing;
    if (doing == Connection::Doing::waiting) continue;  // the connection waits for this process, not for the client
    const int64_t limit = options_.request_timeout_ns + (doing == Connection::Doing::idle ? options_.idle_timeout_ns : 0);
    if (now - connection->since > limit) ::shutdown(connection->socket, SHUT_RDWR);
  }
}

// Finds the clients that closed their connection while they wait for an answer: nobody needs it any more.
void Daemon::find_disconnected_clients() {
  const std::lock_guard lock(mutex_);
  for (Connection *connection : connections_) {
    if (connection->doing != Connection::Doing::waiting) continue;
    pollfd events{connection->socket, POLLRDHUP, 0};
    if (::poll(&events, 1, 0) > 0) connection->client_left = true;
  }
}

void Daemon::watch() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, kWatchEvery, [this] { return stopping_; })) return;
    }
    close_slow(monotonic());
    find_disconnected_clients();
    if (tokens_ == nullptr) continue;
    if (const core::Status refreshed = tokens_->refresh(); !refreshed)
      notice_("tokens: " + refreshed.error() + "; the previous tokens stay valid");
  }
}

}  // namespace atalaya::http_server
