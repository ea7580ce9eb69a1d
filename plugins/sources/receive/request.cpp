// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/receive/request.h"

#include <microhttpd.h>

#include <utility>

#include "core/base/text/json_writer.h"
#include "plugins/shared/protocols/otlp/otlp_reader.h"

namespace atalaya::receive {
namespace {

constexpr int kSoon = 1;   // seconds until a queue has room
constexpr int kLater = 5;  // until a sink works again

// {"success":N,"failed":M,"errors":[...]}
std::string account_text(const Request &request, const protocols::Account &account, uint64_t timeouts) {
  core::JsonWriter json;
  json.object().key("success").count(account.good - timeouts).key("failed").count(account.failed);
  if (request.sync_timeout_ms) json.key("timeouts").count(timeouts);
  if (request.details) json.key("errors").raw("[" + account.errors + "]");
  return json.end_object().take();
}

// The answers of BDWatchdog's store: 201, or 422 with the errors.
Answer stacks_answer(const Request &request, const protocols::Account &account) {
  if (account.failed == 0) return {201, R"({"_status":"OK"})", 0};
  const std::string message = "Insertion failure: " + std::to_string(account.failed) + " document(s) contain(s) error(s)";
  core::JsonWriter json;
  json.object()
      .key("_status")
      .text("ERR")
      .key("_error")
      .object()
      .key("code")
      .integer(422)
      .key("message")
      .text(message)
      .end_object();
  json.key("success").count(account.good).key("failed").count(account.failed);
  if (request.details) json.key("_issues").raw("[" + account.errors + "]");
  return {422, json.end_object().take(), 0};
}

// Points that are refused must not be sent again, so the answer to the others is a success.
Answer otlp_answer(const Request &request, const protocols::Account &account) {
  if (request.json) return {200, protocols::OtlpReader::json_response(account), 0, "application/json"};
  return {200, protocols::OtlpReader::response(account), 0, "application/x-protobuf"};
}

}  // namespace

void Request::wait(MHD_Connection *connection) {
  const std::lock_guard lock(mutex_);
  connection_ = connection;
}

void Request::answer(Answer answer) {
  const std::lock_guard lock(mutex_);
  if (answer_) return;
  answer_ = std::move(answer);
  if (MHD_Connection *waiting = std::exchange(connection_, nullptr); waiting != nullptr) MHD_resume_connection(waiting);
}

std::optional<Answer> Request::answered() {
  const std::lock_guard lock(mutex_);
  return answer_;
}

Answer error_answer(unsigned status, std::string_view message, std::string_view details) {
  core::JsonWriter json;
  json.object().key("error").object().key("code").integer(status).key("message").text(message);
  if (!details.empty()) json.key("details").text(details);
  return {status, json.end_object().end_object().take(), 0};
}

Answer throttle(std::string_view why, int retry_after) {
  Answer answer = error_answer(429, "Please throttle", why);
  answer.retry_after = retry_after;
  return answer;
}

Answer unavailable(std::string_view why) {
  Answer answer = error_answer(503, "Storage exception", why);
  answer.retry_after = kLater;
  return answer;
}

Answer answer_for(const Request &request, const protocols::Account &account) {
  if (!account.fatal.empty()) return error_answer(400, account.fatal);
  if (request.form == Form::stacks) return stacks_answer(request, account);
  if (request.form == Form::otlp) return otlp_answer(request, account);
  if (request.summary || request.details) return {account.failed > 0 ? 400u : 200u, account_text(request, account, 0), 0};
  if (account.failed == 0) return {204, "", 0};
  if (request.form == Form::lines || request.form == Form::influx)
    return error_answer(400, "One or more lines had errors", "Append \"details\" to the request");
  if (request.form == Form::flat) return error_answer(400, "One or more samples had errors", "Append \"details\" to the request");
  return error_answer(400, "One or more data points had errors",
                      "Please see the TSD logs or append \"details\" to the put request");
}

Answer timeout_answer(const Request &request, const protocols::Account &account) {
  Answer answer{400, account_text(request, account, account.good), 0};
  if (!request.summary && !request.details)
    answer = error_answer(400, "Put operation timed out", "Valid points may still be stored");
  return answer;
}

}  // namespace atalaya::receive
