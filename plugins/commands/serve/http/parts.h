// SPDX-License-Identifier: Apache-2.0
// Combines the answers of several queries in one text, which is produced completely or in parts.
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
  // Returns the end of the text. `damage`: the damage found in the store while the queries ran; "" if there was none.
  using Tail = std::function<std::string(const std::string &damage)>;

  // The text is `head`, the answers separated by commas, and the result of `tail`, which is called after the last answer.
  // `part_points` as in Request; if it is 0, the limit of points applies to all queries together.
  QueryParts(std::string head, Tail tail, size_t part_points, const query::Limits &limits);

  void add(query::Query query, query::AnswerParts::Render render);
  // Returns the complete text, or its first part and `rest` for the others. Throws the exceptions of run_query for all queries.
  static Answer answer(const std::shared_ptr<QueryParts> &parts, store::Store &store);
  std::string next(store::Store &store) override;

 private:
  struct Item {
    query::Query query;
    query::AnswerParts parts;
  };

  std::string next_query_part(store::Store &store);
  void check_rest(store::Store &store);
  // Runs the function and subtracts its time from the time limit.
  template <class Function>
  auto timed(Function &&function);

  const Tail tail_;
  const bool is_complete_;
  const size_t part_points_;
  query::Limits limits_;  // remaining limits
  std::deque<Item> queries_;
  std::string text_;  // text to prepend to the next part
  std::string damage_;
  size_t part_point_count_ = 0;  // number of points of the last part
  bool has_answers_ = false, ended_ = false;
};

}  // namespace atalaya::serve
