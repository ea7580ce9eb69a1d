// SPDX-License-Identifier: Apache-2.0
// The ledger of the agent on this host, by its status socket.
#include <simdjson.h>

#include "core/base/status_socket.h"
#include "plugins/commands/serve/json_writer.h"
#include "plugins/commands/serve/page_api.h"

namespace atalaya::serve {
namespace {

// Another program may listen there: what is no JSON must not become a part of the answer.
bool is_json_object(const std::string &text) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  return parser.parse(text).get(root) == simdjson::SUCCESS && root.is_object();
}

}  // namespace

std::string page_health(PageCall &call) {
  const std::string path = call.status_socket.empty() ? core::default_status_socket() : call.status_socket;
  const auto status = core::ask_status(path, true);
  const bool known = status && is_json_object(status.value());
  JsonWriter json;
  json.object().key("status");
  if (known)
    json.raw(std::string_view(status.value()).substr(0, status.value().find_last_not_of('\n') + 1));
  else
    json.null();
  json.key("reason").text_or_null(known ? "" : status ? path + ": the answer is not a status" : status.error());
  // The features of components are known to the binary, not to its plugins.
  json.key("doctor").null().key("doctor_reason").text("run atalaya doctor on the host of the agent");
  return json.end_object().take();
}

}  // namespace atalaya::serve
