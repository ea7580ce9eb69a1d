// SPDX-License-Identifier: Apache-2.0
// An HTTP request and its answer. Pure.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace atalaya::store {
class Store;
}

namespace atalaya::serve {

struct Request {
  std::string method, path;
  std::vector<std::pair<std::string, std::string>> arguments;  // of the URL, then of a form
  std::string body;
  std::string content_type;
  std::string known_tag;   // If-None-Match
  size_t part_points = 0;  // of a large answer in parts; 0: the answer must be whole

  // The first with that name, or null.
  const std::string *argument(std::string_view name) const;
  std::string text(std::string_view name) const;  // "" if absent
  std::vector<std::string> texts(std::string_view name) const;
  bool flag(std::string_view name) const;  // present, and not "false"
};

// The rest of a large answer: its client reads one part after the other.
class AnswerRest {
 public:
  virtual ~AnswerRest() = default;
  // The next part; "": the end. Throws if it cannot be produced: the answer then ends without its end.
  virtual std::string next(store::Store &store) = 0;
};

struct Answer {
  unsigned status = 200;
  std::string body;
  const char *content_type = "application/json; charset=UTF-8";
  std::vector<std::pair<const char *, std::string>> headers = {};
  std::shared_ptr<AnswerRest> rest = nullptr;  // null: `body` is all
};

// Adds the arguments of a body of type application/x-www-form-urlencoded; false if it is malformed.
bool read_form(std::string_view body, std::vector<std::pair<std::string, std::string>> &arguments);

// ["text",..]
std::string list_json(const std::vector<std::string> &texts);
// {"error":{"code":..,"message":..}}, OpenTSDB's form.
Answer error_answer(unsigned status, std::string_view message);

}  // namespace atalaya::serve
