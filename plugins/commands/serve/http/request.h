// SPDX-License-Identifier: Apache-2.0
// An HTTP request and its answer, independent of the HTTP library.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/text/json_writer.h"

namespace atalaya::store {
class Store;
}

namespace atalaya::serve {

struct Request {
  std::string method, path;
  std::vector<std::pair<std::string, std::string>> arguments;  // arguments of the URL, then those of a form
  std::string body;
  std::string content_type;
  std::string known_tag;                         // header If-None-Match
  size_t part_points = 0;                        // points per part of a large answer; 0: the answer must be complete
  const std::atomic<bool> *cancelled = nullptr;  // becomes true when the client leaves; null: never
  // The first argument with this name; null if absent.
  const std::string *argument(std::string_view name) const;
  std::string text(std::string_view name) const;  // value of the argument; "" if absent
  std::vector<std::string> texts(std::string_view name) const;
  bool flag(std::string_view name) const;  // whether the argument is present and not "false"
};

// The parts of a large answer after the first; each is produced when the client has read the previous one.
class AnswerRest {
 public:
  virtual ~AnswerRest() = default;
  // Returns the next part; "" at the end. If it throws, the connection is closed and the client sees an incomplete answer.
  virtual std::string next(store::Store &store) = 0;
};

struct Answer {
  unsigned status = 200;
  std::string body;
  const char *content_type = "application/json; charset=UTF-8";
  std::vector<std::pair<const char *, std::string>> headers = {};
  std::shared_ptr<AnswerRest> rest = nullptr;  // null: `body` is complete
};

// Adds the arguments of a body of type application/x-www-form-urlencoded; false if it is malformed.
bool read_form(std::string_view body, std::vector<std::pair<std::string, std::string>> &arguments);

// A JSON array of the texts: ["text",..]
template <class Texts>
std::string list_json(const Texts &texts) {
  return core::JsonWriter().texts(texts).take();
}
// An error in OpenTSDB's format: {"error":{"code":..,"message":..}}
Answer error_answer(unsigned status, std::string_view message);

}  // namespace atalaya::serve
