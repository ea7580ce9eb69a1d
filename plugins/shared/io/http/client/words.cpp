// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/client/words.h"

#include <simdjson.h>

#include "core/base/text/safe_text.h"

namespace atalaya::http_client {
namespace {

using simdjson::dom::element;

std::string message_in(std::string_view body) {
  simdjson::dom::parser parser;
  element root;
  element error;
  std::string_view text;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS) return {};
  if (root["error"].get(error) != simdjson::SUCCESS) return {};
  if (error.get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  return error["message"].get_string().get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

}  // namespace

std::string error_message(std::string_view body) {
  std::string words = message_in(body);
  if (words.empty()) words = body.substr(0, kMaxErrorMessage);
  std::string visible;
  core::append_visible(visible, std::string_view(words).substr(0, kMaxErrorMessage));
  return visible.empty() ? "no explanation" : visible;
}

}  // namespace atalaya::http_client
