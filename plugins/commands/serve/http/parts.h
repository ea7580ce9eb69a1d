// SPDX-License-Identifier: Apache-2.0
// The answers of several queries in one text, whole or in parts.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "plugins/commands/serve/http/request.h"
#include "plugins/shared/store/query/answer_parts.h"

namespace atalaya::serve {

class QueryParts final : public AnswerRest {
 public:
  // The damage that was found in the store on the way; "": none.
  using Tail = std::function<std::string(const std::string &damage)>;

  // `head` and `tail` enclose the answers, which are separated by commas. The tail is computed when all answers are known.
  // `part_points` as in Request. If the answer must be whole, all queries together have the limit of points.
  QueryParts(std::string head, Tail tail, size_t part_points, const query::Limits &limits);

  void add(query::Query query, query::AnswerParts::Render render);
  // The text, or its begin and the rest of it. Throws what run_query throws for any of the queries.
  static Answer answer(const std::shared_ptr<QueryParts> &parts, store::Store &store);
  std::string next(store::Store &store) override;

 private:
  struct One {
    query::Query query;
    query::AnswerParts parts;
  };

  std::string one_part(store::Store &store);
  void check_rest(store::Store &store);
  // Runs the function, whose time is not left for the rest.
  template <class Function>
  auto timed(Function &&function);

  const Tail tail_;
  const bool whole_;
  const size_t part_points_;
  query::Limits limits_;  // what is left
  std::deque<One> queries_;
  std::string text_;  // before the next part
  std::string damage_;
  size_t counted_ = 0;  // points of the last part
  bool has_any_ = false, ended_ = false;
};

}  // namespace atalaya::serve
