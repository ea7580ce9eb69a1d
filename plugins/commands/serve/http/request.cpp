// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/http/request.h"

#include <algorithm>
#include <optional>

#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"
#include "plugins/shared/analysis/command_line/render.h"

namespace atalaya::serve {
namespace {

constexpr size_t kMaxArguments = 256;

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit_of(text[i + 1]) < 0 || digit_of(text[i + 2]) < 0) return std::nullopt;
    out += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
    i += 2;
  }
  return out;
}

}  // namespace

const std::string *Request::argument(std::string_view name) const {
  const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const auto &one) { return one.first == name; });
  return found == arguments.end() ? nullptr : &found->second;
}

std::string Request::text(std::string_view name) const {
  const std::string *found = argument(name);
  return found == nullptr ? "" : *found;
}

std::vector<std::string> Request::texts(std::string_view name) const {
  std::vector<std::string> found;
  for (const auto &[key, value] : arguments)
    if (key == name) found.push_back(value);
  return found;
}

bool Request::flag(std::string_view name) const {
  const std::string *found = argument(name);
  return found != nullptr && *found != "false";
}

bool read_form(std::string_view body, std::vector<std::pair<std::string, std::string>> &arguments) {
  while (!body.empty()) {
    const std::string_view pair = core::cut_at(body, '&');
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    const auto key = decoded(pair.substr(0, equals));
    const auto value = decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!key || !value || arguments.size() >= kMaxArguments) return false;
    arguments.emplace_back(*key, *value);
  }
  return true;
}

Answer error_answer(unsigned status, std::string_view message) {
  core::JsonWriter json;
  json.object().key("error").object().key("code").integer(status).key("message").text(message).end_object().end_object();
  Answer answer;
  answer.status = status;
  answer.body = json.take();
  return answer;
}

}  // namespace atalaya::serve
