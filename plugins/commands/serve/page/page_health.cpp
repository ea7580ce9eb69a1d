// SPDX-License-Identifier: Apache-2.0
// The status of the agent on this host, from its status socket: its ledger and its report of the host's features (doctor).
#include <simdjson.h>

#include "core/base/status_socket.h"
#include "core/base/text/json_writer.h"
#include "plugins/commands/serve/page/page_api.h"

namespace atalaya::serve {
namespace {

using Element = simdjson::dom::element;

// Another program may listen on the socket: only valid JSON may become a part of the answer.
class Parsed {
 public:
  explicit Parsed(const std::string &text) : known_(parser_.parse(text).get(root_) == simdjson::SUCCESS) {}
  bool is_object() const { return known_ && root_.is_object(); }
  bool is_list() const { return known_ && root_.is_array(); }
  // The text member of an object; "" if it is missing.
  std::string_view text(std::string_view name) const {
    std::string_view found;
    return is_object() && root_.at_key(name).get(found) == simdjson::SUCCESS ? found : std::string_view();
  }

 private:
  simdjson::dom::parser parser_;
  Element root_;
  bool known_;
};

std::string socket_of(const PageCall &call) {
  return call.status_socket.empty() ? core::default_status_socket() : call.status_socket;
}

// Writes NAME: the answer or null, and "reason": the reason for null.
std::string answer_of(std::string_view name, const core::Result<std::string> &answer, bool known, std::string_view reason) {
  core::JsonWriter json;
  json.object().key(name);
  if (known)
    json.raw(std::string_view(answer.value()).substr(0, answer.value().find_last_not_of('\n') + 1));
  else
    json.null();
  json.key("reason").text_or_null(known ? "" : answer ? reason : answer.error());
  return json.end_object().take();
}

}  // namespace

std::string page_health(PageCall &call) {
  const std::string path = socket_of(call);
  const auto status = core::ask_status(path, true);
  const bool known = status && Parsed(status.value()).is_object();
  return answer_of("status", status, known, path + ": the answer is not a status");
}

std::string page_doctor(PageCall &call) {
  const std::string path = socket_of(call);
  const auto features = core::ask_doctor(path);
  if (!features) return answer_of("doctor", features, false, "");
  const Parsed parsed(features.value());
  const std::string_view error = parsed.text("error");
  const std::string other = path + ": the answer is not that of a doctor; run atalaya doctor on the host of the agent";
  return answer_of("doctor", features, parsed.is_list(), error.empty() ? other : error);
}

}  // namespace atalaya::serve
