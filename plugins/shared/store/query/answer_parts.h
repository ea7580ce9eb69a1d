// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plugins/shared/store/query/plan.h"
#include "plugins/shared/store/query/types.h"

namespace atalaya::query {

// The answers of one query as text, in parts, for results that are too large for memory. The parts have the order and the
// values of run_query. No lock of the store is held between parts, so that each part may come from another object of the same
// store, and a slow reader blocks nobody. Series that start between two parts may be missing.
class AnswerParts {
 public:
  // Formats answers. May throw TooManyPoints; it is then called with fewer answers.
  using Render = std::function<std::string(const std::vector<Answer> &, Budget &)>;

  // A part has at most `points` points, unless a single answer has more.
  AnswerParts(Query query, size_t points, Render render) : query_(std::move(query)), points_(points), render_(std::move(render)) {}

  bool finished() const { return finished_; }
  // Returns the next part. Empty: no more answers, or none of these has points. Throws as run_query does. The time limit is
  // that of the call, for all its attempts.
  std::string next(store::Store &store, const Limits &limits);

 private:
  std::optional<std::string> whole(store::Store &store, const Budget &budget);
  void check(const Plan &plan, store::Store &store, const Budget &budget);
  std::string part(const Plan &plan, size_t begin, store::Store &store, const Budget &budget);
  size_t groups_after(const Plan &plan) const;

  const Query query_;
  const size_t points_;
  const Render render_;
  std::vector<std::string> last_;  // key of the last group
  size_t groups_ = 0;              // number of groups in the next part; 0: all
  bool checked_ = false;
  bool finished_ = false;
};

}  // namespace atalaya::query
