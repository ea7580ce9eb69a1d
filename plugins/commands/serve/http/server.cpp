// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/http/server.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "plugins/shared/io/http/server/peer.h"

namespace atalaya::serve {
namespace {

using http_server::Daemon;
using http_server::header;

constexpr size_t kSmall =
    size_t{64} << 10;  // bytes; a smaller answer is never refused, because the number of connections is limited
constexpr size_t kBlock = size_t{64} << 10;  // bytes of an answer in parts that the connection buffers
// Points per part; a point has approximately 20 bytes. Small parts need more queries and are used while many clients read slowly.
constexpr size_t kPartPoints = 131'072, kSmallPartPoints = 65'536;

MHD_Result add_argument(void *request, enum MHD_ValueKind, const char *key, const char *value) {
  static_cast<Request *>(request)->arguments.emplace_back(key, value == nullptr ? "" : value);
  return MHD_YES;
}

}  // namespace

// A request, from its receipt until its answer is sent.
struct Server::Call {
  Server *server = nullptr;
  Request request;
  std::optional<Answer> answer;
  MHD_Connection *connection = nullptr;
  std::string client;
  size_t held = 0;  // size of the answer, or of its current part, until the client has read it
  // For an answer in parts: the body is the current part, and this is the number of bytes that were read of it. A connection that
  // waits for the next part is suspended.
  size_t read = 0;
  bool ended = false, cut = false;
};

Server::Server(const ServerOptions &options, http_server::Tokens *tokens, MakeWorker make, Daemon::Notice notice)
    : options_(options),
      make_(std::move(make)),
      notice_(notice),
      waiting_(options.workers),
      daemon_(options.http, tokens, *this, std::move(notice)) {}

Server::~Server() {
  stop();
}

void Server::start(http_server::Listener listener) {
  for (unsigned i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { work(); });
  daemon_.start(std::move(listener));
}

void Server::stop() {
  daemon_.quiesce();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    waiting_.clear([](Call *call) {
      if (call->answer)
        call->cut = true;
      else
        call->answer = error_answer(503, "The server is stopping");
      MHD_resume_connection(call->connection);
    });
    wake_.notify_all();
  }
  for (std::thread &worker : workers_) worker.join();
  workers_.clear();
  daemon_.stop();
}

void Server::work() {
  const std::unique_ptr<Worker> worker = make_();
  std::unique_lock lock(mutex_);
  for (;;) {
    std::optional<Call *> next;
    wake_.wait(lock, [&] { return stopping_ || (next = waiting_.pop()); });
    if (stopping_) return;
    Call &call = **next;
    if (call.answer)
      continue_answer(*worker, call, lock);
    else
      start_answer(*worker, call, lock);
    waiting_.finish(call.client);
    wake_.notify_one();  // the client may use this worker again
    MHD_resume_connection(call.connection);
  }
}

void Server::set_queued_bytes(Call &call, size_t bytes) {
  queued_bytes_ += bytes - call.held;
  call.held = bytes;
}

void Server::start_answer(Worker &worker, Call &call, std::unique_lock<std::mutex> &lock) {
  call.request.part_points = queued_bytes_ > options_.max_answers / 4 ? kSmallPartPoints : kPartPoints;
  lock.unlock();
  Answer answer = worker.answer(call.request);
  lock.lock();
  if (answer.body.size() > kSmall && queued_bytes_ > 0 && queued_bytes_ + answer.body.size() > options_.max_answers)
    answer = error_answer(503, "Clients read large answers too slowly; try again later");
  set_queued_bytes(call, answer.body.size());
  call.answer = std::move(answer);
}

void Server::continue_answer(Worker &worker, Call &call, std::unique_lock<std::mutex> &lock) {
  lock.unlock();
  std::string part, problem;
  try {
    part = worker.next_part(*call.answer->rest);
  } catch (const std::exception &error) {
    problem = error.what();
  }
  lock.lock();
  if (problem.empty() && part.size() > kSmall && queued_bytes_ > 0 && queued_bytes_ + part.size() > options_.max_answers)
    problem = "clients read large answers too slowly, and max_answers is used";
  if (*call.request.cancelled) call.cut = true;
  if (call.cut) return call.answer->rest.reset();
  if (!problem.empty()) return abort_answer(call, problem);
  call.ended = part.empty();
  call.read = 0;
  set_queued_bytes(call, part.size());
  call.answer->body = std::move(part);
}

void Server::abort_answer(Call &call, std::string_view why) {
  call.cut = true;
  call.answer->rest.reset();
  notice_("an answer to " + call.request.path + " was cut off, which its client sees: " + std::string(why));
}

MHD_Result Server::on_request(MHD_Connection *connection, const char *url, const char *method, const char *data, size_t *size,
                              void **context) {
  if (*context == nullptr) {
    auto call = std::make_unique<Call>();
    call->server = this;
    call->request.method = method;
    call->request.path = url;
    call->request.content_type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    call->request.known_tag = header(connection, MHD_HTTP_HEADER_IF_NONE_MATCH);
    call->connection = connection;
    call->client = http_server::address_of_peer(Daemon::socket_of(connection)) + " ";
    call->client += header(connection, MHD_HTTP_HEADER_USER_AGENT);
    call->request.cancelled = &Daemon::client_left(connection);
    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, &add_argument, &call->request);
    call->answer = immediate(connection, call->request);
    *context = call.release();
    return MHD_YES;
  }
  auto &call = *static_cast<Call *>(*context);
  if (*size > 0) {
    std::string &body = call.request.body;
    if (!call.answer && body.size() + *size > options_.max_body)
      call.answer = error_answer(413, "Maximum size of a body: " + std::to_string(options_.max_body) + " bytes");
    if (!call.answer) body.append(data, *size);
    *size = 0;
    return MHD_YES;
  }
  return finish(connection, call);
}

std::optional<Answer> Server::immediate(MHD_Connection *connection, const Request &request) const {
  if (request.path == "/health") return Answer{200, R"({"status":"ok"})"};
  auto open = options_.open(request);
  if (const auto refused = daemon_.refusal(connection, request.method, !open)) return error_answer(refused->status, refused->why);
  if (options_.writes(request))
    if (const auto refused = daemon_.refusal_to_write(connection)) return error_answer(refused->status, refused->why);
  return open;
}

MHD_Result Server::finish(MHD_Connection *connection, Call &call) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [&](Answer answer) {
    call.answer = std::move(answer);
    return send(connection, call);
  };
  if (call.answer) return send(connection, call);
  if (call.request.content_type.starts_with("application/x-www-form-urlencoded") &&
      !read_form(call.request.body, call.request.arguments))
    return refuse(error_answer(400, "the form in the body is malformed"));
  if (stopping_ || waiting_.size() >= options_.max_waiting)
    return refuse(error_answer(503, "Too many requests are waiting; try again later"));
  wait_for_worker(call);
  return MHD_YES;
}

void Server::wait_for_worker(Call &call) {
  Daemon::stop_time_limit(call.connection);
  MHD_suspend_connection(call.connection);
  waiting_.push(call.client, &call);
  wake_.notify_one();
}

MHD_Result Server::send(MHD_Connection *connection, Call &call) {
  Daemon::start_time_limit(connection);
  MHD_Response *response = make_response(call);
  if (response == nullptr) return MHD_NO;
  const Answer &answer = *call.answer;
  if (!answer.body.empty()) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type);
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  for (const auto &[name, value] : answer.headers) MHD_add_response_header(response, name, value.c_str());
  Daemon::add_headers(response, answer.status);
  const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return queued;
}

// Creates a response that points to the answer of the call, which lives longer.
MHD_Response *Server::make_response(Call &call) {
  std::string &body = call.answer->body;
  if (call.answer->rest) return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kBlock, &Server::read_part, &call, nullptr);
  return MHD_create_response_from_buffer(body.size(), body.data(), MHD_RESPMEM_PERSISTENT);
}

ssize_t Server::read_part(void *call, uint64_t, char *to, size_t size) {
  Call &read = *static_cast<Call *>(call);
  const std::lock_guard lock(read.server->mutex_);
  return read.server->copy_part(read, to, size);
}

// Returns 0 if no data is available yet: it is called again when the connection is resumed.
ssize_t Server::copy_part(Call &call, char *to, size_t size) {
  if (call.cut) return MHD_CONTENT_READER_END_WITH_ERROR;
  if (call.ended) return MHD_CONTENT_READER_END_OF_STREAM;
  const std::string_view unread = std::string_view(call.answer->body).substr(call.read);
  if (unread.empty()) {
    if (stopping_) return MHD_CONTENT_READER_END_WITH_ERROR;
    std::string().swap(call.answer->body);
    set_queued_bytes(call, 0);
    wait_for_worker(call);
    return 0;
  }
  if (call.read == 0) Daemon::start_time_limit(call.connection);
  const size_t copied = std::min(unread.size(), size);
  std::memcpy(to, unread.data(), copied);
  call.read += copied;
  return static_cast<ssize_t>(copied);
}

void Server::on_completed(void *context) noexcept {
  const std::unique_ptr<Call> call(static_cast<Call *>(context));
  const std::lock_guard lock(mutex_);
  queued_bytes_ -= call->held;
}

}  // namespace atalaya::serve
