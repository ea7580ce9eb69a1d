// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/http/parts.h"

#include <algorithm>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/store/query/engine.h"

namespace atalaya::serve {
namespace {

constexpr size_t kBytesPerPoint = 8;  // minimum size of a point; a smaller answer is sent completely
constexpr size_t kMaxDamage = 4096;

}  // namespace

QueryParts::QueryParts(std::string head, Tail tail, size_t part_points, const query::Limits &limits)
    : tail_(std::move(tail)),
      is_complete_(part_points == 0 || limits.points <= part_points),
      part_points_(is_complete_ ? limits.points : part_points),
      limits_(limits),
      text_(std::move(head)) {
  limits_.request_ns = limits.time_ns;
}

void QueryParts::add(query::Query query, query::AnswerParts::Render render) {
  auto counting = [this, render = std::move(render)](const std::vector<query::Answer> &answers, query::Budget &budget) {
    part_point_count_ = 0;
    for (const query::Answer &answer : answers) part_point_count_ += query::points_of(answer);
    return render(answers, budget);
  };
  queries_.push_back({query, query::AnswerParts(query, part_points_, std::move(counting))});
}

template <class Function>
auto QueryParts::timed(Function &&function) {
  const int64_t begin = core::monotonic();
  auto result = function();
  limits_.time_ns = std::max<int64_t>(0, limits_.time_ns - (core::monotonic() - begin));
  return result;
}

std::string QueryParts::next_query_part(store::Store &store) {
  Item &one = queries_.front();
  std::string text = timed([&] { return one.parts.next(store, limits_); });
  const std::string damage = store.take_damage();
  if (damage_.find(damage) == std::string::npos && damage_.size() < kMaxDamage) damage_ += (damage_.empty() ? "" : "; ") + damage;
  if (is_complete_) limits_.points -= std::min(limits_.points, part_point_count_);
  if (one.parts.finished()) queries_.pop_front();
  return text;
}

std::string QueryParts::next(store::Store &store) {
  std::string text = std::exchange(text_, {});
  while (text.empty() && !ended_) {
    if (queries_.empty()) {
      ended_ = true;
      return tail_(damage_);
    }
    std::string part = next_query_part(store);
    if (!part.empty() && std::exchange(has_answers_, true)) text = ",";
    text += part;
  }
  return text;
}

// Checks the remaining queries before the first part is sent, because an error must set the status of the answer.
void QueryParts::check_rest(store::Store &store) {
  timed([&] {
    query::Budget budget(limits_);
    for (const Item &one : queries_) query::selected(one.query, store, budget);
    return true;
  });
}

Answer QueryParts::answer(const std::shared_ptr<QueryParts> &parts, store::Store &store) {
  Answer answer;
  while (!parts->ended_ && (parts->is_complete_ || answer.body.size() < kBytesPerPoint * parts->part_points_))
    answer.body += parts->next(store);
  if (parts->ended_) return answer;
  parts->check_rest(store);
  answer.rest = parts;
  return answer;
}

}  // namespace atalaya::serve
