// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/server.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace atalaya::serve {
namespace {

using http_server::Daemon;
using http_server::header;

constexpr size_t kSmall = size_t{64} << 10;  // bytes of an answer that is never refused: the number of connections is limited

MHD_Result add_argument(void *request, enum MHD_ValueKind, const char *key, const char *value) {
  static_cast<Request *>(request)->arguments.emplace_back(key, value == nullptr ? "" : value);
  return MHD_YES;
}

}  // namespace

// A request during receipt and answer.
struct Server::Call {
  Request request;
  std::optional<Answer> answer;
  MHD_Connection *connection = nullptr;
  size_t held = 0;  // bytes of the answer until its client has read it
  bool handed_on = false;
};

Server::Server(const ServerOptions &options, http_server::Tokens *tokens, std::function<Work()> make, Daemon::Notice notice)
    : options_(options), make_(std::move(make)), daemon_(options.http, tokens, *this, std::move(notice)) {}

Server::~Server() {
  stop();
}

void Server::start(http_server::Listener listener) {
  for (unsigned i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { work(make_()); });
  daemon_.start(std::move(listener));
}

void Server::stop() {
  daemon_.quiesce();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Call *call : waiting_) {
      call->answer = error_answer(503, "The server is stopping");
      MHD_resume_connection(call->connection);
    }
    waiting_.clear();
    wake_.notify_all();
  }
  for (std::thread &worker : workers_) worker.join();
  workers_.clear();
  daemon_.stop();
}

void Server::work(const Work &work) {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    Call *call = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    Answer answer = work(call->request);
    lock.lock();
    if (answer.body.size() > kSmall && held_ > 0 && held_ + answer.body.size() > options_.max_answers)
      answer = error_answer(503, "Clients read large answers too slowly; try again later");
    call->held = answer.body.size();
    held_ += call->held;
    call->answer = std::move(answer);
    MHD_resume_connection(call->connection);
  }
}

MHD_Result Server::on_request(MHD_Connection *connection, const char *url, const char *method, const char *data, size_t *size,
                              void **context) {
  if (*context == nullptr) {
    auto call = std::make_unique<Call>();
    call->request.method = method;
    call->request.path = url;
    call->request.content_type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
    call->request.known_tag = header(connection, MHD_HTTP_HEADER_IF_NONE_MATCH);
    call->connection = connection;
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
  return open;
}

MHD_Result Server::finish(MHD_Connection *connection, Call &call) {
  const std::lock_guard lock(mutex_);
  const auto refuse = [&](Answer answer) {
    call.answer = std::move(answer);
    return send(connection, *call.answer);
  };
  if (call.answer) {
    Daemon::answers(connection);
    return send(connection, *call.answer);
  }
  if (call.request.content_type.starts_with("application/x-www-form-urlencoded") &&
      !read_form(call.request.body, call.request.arguments))
    return refuse(error_answer(400, "the form in the body is malformed"));
  if (stopping_ || waiting_.size() >= options_.max_waiting)
    return refuse(error_answer(503, "Too many requests are waiting; try again later"));
  Daemon::waits(connection);
  MHD_suspend_connection(connection);
  waiting_.push_back(&call);
  wake_.notify_one();
  return MHD_YES;
}

MHD_Result Server::send(MHD_Connection *connection, const Answer &answer) {
  MHD_Response *response =
      MHD_create_response_from_buffer(answer.body.size(), const_cast<char *>(answer.body.data()), MHD_RESPMEM_PERSISTENT);
  if (response == nullptr) return MHD_NO;
  if (!answer.body.empty()) MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type);
  MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  for (const auto &[name, value] : answer.headers) MHD_add_response_header(response, name, value.c_str());
  Daemon::add_headers(response, answer.status);
  const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return queued;
}

void Server::on_completed(void *context) noexcept {
  const std::unique_ptr<Call> call(static_cast<Call *>(context));
  const std::lock_guard lock(mutex_);
  held_ -= call->held;
}

}  // namespace atalaya::serve
