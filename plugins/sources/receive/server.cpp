// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include "plugins/shared/protocols/base/numbers.h"
#include "plugins/shared/protocols/influx/influx_reader.h"

namespace atalaya::receive {
namespace {

using http_server::Daemon;
using http_server::header;

// ?summary, ?summary= and ?summary=true are equivalent.
bool has_flag(MHD_Connection *connection, const char *name) {
  const char *value = nullptr;
  size_t size = 0;
  return MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, name, std::string_view(name).size(), &value, &size) ==
         MHD_YES;
}

std::optional<Form> form_of(std::string_view url, const ServerOptions &options) {
  if (url == "/api/put") return Form::put;
  if (url == "/cpu" || url == "/api/stacks") return Form::stacks;
  if (url == "/api/jsonlines") return Form::lines;
  if (url == "/api/flat") return Form::flat;
  if (options.influx && (url == "/write" || url == "/api/v2/write")) return Form::influx;
  if (options.otlp && url == "/v1/metrics") return Form::otlp;
  return std::nullopt;
}

// Returns the client's address without port; for IPv6 only the network of 64 bits, because a host may use each address of it.
std::string address_of(MHD_Connection *connection) {
  const MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return "unknown";
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (info->client_addr->sa_family == AF_INET) {
    const auto *ipv4 = reinterpret_cast<const sockaddr_in *>(info->client_addr);
    ::inet_ntop(AF_INET, &ipv4->sin_addr, text.data(), text.size());
    return text.data();
  }
  if (info->client_addr->sa_family != AF_INET6) return "unknown";
  in6_addr address = reinterpret_cast<const sockaddr_in6 *>(info->client_addr)->sin6_addr;
  const bool is_ipv4 = IN6_IS_ADDR_V4MAPPED(&address);
  if (is_ipv4) {
    ::inet_ntop(AF_INET, &address.s6_addr[12], text.data(), text.size());
    return text.data();
  }
  std::fill(std::begin(address.s6_addr) + 8, std::end(address.s6_addr), uint8_t{0});
  ::inet_ntop(AF_INET6, &address, text.data(), text.size());
  return text.data();
}

}  // namespace

// The state of a request while it is received and answered.
struct Server::Call {
  std::shared_ptr<Request> request = std::make_shared<Request>();
  std::optional<Answer> refusal;  // known before the body is complete: the rest is read and discarded
  size_t body_bytes = 0;          // counted in body_bytes_
  bool handed_on = false;
  bool is_health = false;
};

Server::Server(const ServerOptions &options, http_server::Tokens *tokens, Admit admit, Receive receive, Answered answered,
               Daemon::Notice notice)
    : options_(options),
      admit_(std::move(admit)),
      receive_(std::move(receive)),
      answered_(std::move(answered)),
      daemon_(options.http, tokens, *this, std::move(notice)) {}

MHD_Result Server::on_request(MHD_Connection *connection, const char *url, const char *method, const char *data, size_t *size,
                              void **context) {
  if (*context == nullptr) return begin(connection, url, method, context);
  auto &call = *static_cast<Call *>(*context);
  if (*size > 0) {
    append_body(call, {data, *size});
    *size = 0;
    return MHD_YES;
  }
  if (call.handed_on) {
    const auto answer = call.request->answered();
    Daemon::start_time_limit(connection);
    return answer ? send(connection, call, *answer) : MHD_NO;
  }
  return call.refusal ? send(connection, call, *call.refusal) : forward(connection, call);
}

MHD_Result Server::begin(MHD_Connection *connection, const char *url, const char *method, void **context) {
  auto call = std::make_unique<Call>();
  Answer refusal = check(connection, url, method, *call);
  if (refusal.status != 0) call->refusal = std::move(refusal);
  const bool asks_first = !header(connection, MHD_HTTP_HEADER_EXPECT).empty();
  Call &begun = *call;
  *context = call.release();
  // Clients with "Expect: 100-continue" get the refusal now; others after they have sent the body.
  return begun.refusal && asks_first ? send(connection, begun, *begun.refusal) : MHD_YES;
}

// Checks the request before its body; status 0: no error.
Answer Server::check(MHD_Connection *connection, std::string_view url, std::string_view method, Call &call) {
  call.is_health = url == "/health" && (method == "GET" || method == "HEAD");
  if (call.is_health) return {200, R"({"status":"ok"})", 0};
  const auto form = form_of(url, options_);
  if (!form) return error_answer(404, "Endpoint not found", "The requested endpoint was not found");
  if (const auto refused = daemon_.refusal(connection, method)) return error_answer(refused->status, "Refused", refused->why);
  if (method != "POST" && !(method == "PUT" && *form == Form::lines))
    return error_answer(405, "Method not allowed",
                        "The HTTP method [" + std::string(method) + "] is not permitted for this endpoint");
  const std::string_view content = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
  const bool json = content.starts_with("application/json");
  if (*form == Form::otlp && !json && !content.starts_with("application/x-protobuf"))
    return error_answer(415, "Unsupported Content-Type", "Set the exporter's protocol to http/protobuf or http/json");
  const auto encoding = io::encoding_from_name(header(connection, MHD_HTTP_HEADER_CONTENT_ENCODING));
  if (!encoding) return error_answer(415, "Unsupported Content-Encoding", "Use gzip, deflate, zstd or identity");
  Request &request = *call.request;
  if (auto refused = admit_(request, address_of(connection))) return std::move(*refused);
  request.form = *form;
  request.json = json;
  request.encoding = *encoding;
  request.summary = has_flag(connection, "summary");
  request.details = has_flag(connection, "details");
  if (*form == Form::influx) {
    const char *precision = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "precision");
    const auto unit = protocols::precision_from_name(precision == nullptr ? "" : precision);
    if (!unit) return error_answer(400, "Unknown precision", "Use ns, us, ms, s, m or h");
    request.unit_ns = *unit;
  }
  if (const char *timeout = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "sync_timeout"); timeout != nullptr)
    if (const auto ms = protocols::parse_integer(timeout); ms && *ms > 0) request.sync_timeout_ms = *ms;
  return {};
}

void Server::release(Sender &sender, size_t bytes) {
  sender.body_bytes -= bytes;
  body_bytes_ -= bytes;
}

void Server::append_body(Call &call, std::string_view data) {
  if (call.refusal) return;
  const auto refuse = [&](Answer answer) {
    call.refusal = std::move(answer);
    release(*call.request->sender, std::exchange(call.body_bytes, 0));
    std::string().swap(call.request->body);
  };
  std::string &body = call.request->body;
  if (body.size() + data.size() > options_.max_body)
    return refuse(error_answer(413, "Request too large", "The maximum is " + std::to_string(options_.max_body) + " bytes"));
  call.body_bytes += data.size();
  Sender &sender = *call.request->sender;
  sender.body_bytes += data.size();
  body_bytes_ += data.size();
  if (body_bytes_ > options_.max_waiting) return refuse(throttle("Too many requests are waiting to be stored"));
  if (sender.body_bytes > options_.max_waiting / 2)
    return refuse(throttle("Too many requests of this sender are waiting to be stored"));
  body += data;
}

MHD_Result Server::forward(MHD_Connection *connection, Call &call) {
  call.handed_on = true;
  Daemon::stop_time_limit(connection);
  MHD_suspend_connection(connection);
  call.request->wait(connection);
  call.body_bytes = 0;  // now owned by the receiver of the request
  if (auto refused = receive_(call.request); refused) call.request->answer(std::move(*refused));
  return MHD_YES;
}

MHD_Result Server::send(MHD_Connection *connection, const Call &call, const Answer &answer) {
  if (!call.is_health) answered_(*call.request, answer.status);
  MHD_Response *response =
      MHD_create_response_from_buffer(answer.body.size(), const_cast<char *>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  if (!answer.body.empty() || answer.status == 200)
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type);
  if (answer.retry_after > 0)
    MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, std::to_string(answer.retry_after).c_str());
  Daemon::add_headers(response, answer.status);
  if (answer.status == 405) MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "POST");
  const MHD_Result queued = MHD_queue_response(connection, answer.status, response);
  MHD_destroy_response(response);
  return queued;
}

void Server::on_completed(void *context) noexcept {
  const std::unique_ptr<Call> call(static_cast<Call *>(context));
  if (call->request->sender) release(*call->request->sender, call->body_bytes);
}

}  // namespace atalaya::receive
