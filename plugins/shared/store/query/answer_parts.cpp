// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/query/answer_parts.h"

#include <algorithm>

namespace atalaya::query {

std::string AnswerParts::next(store::Store &store, const Limits &limits) {
  Budget budget(limits);
  if (groups_ == 0) {
    if (auto text = whole(store, budget)) return std::move(*text);
  }
  const Plan plan = plan_of(query_, store, budget);
  if (needs_points(query_) && !checked_ && plan.groups.size() > 1) check(plan, store, budget);
  const size_t begin = groups_after(plan);
  if (begin == plan.groups.size()) {
    finished_ = true;
    return {};
  }
  return part(plan, begin, store, budget);
}

// Most answers are small.
std::optional<std::string> AnswerParts::whole(store::Store &store, const Budget &request) {
  Budget all = request, budget = request.part(std::min(points_, request.limits().points));
  Plan plan = plan_of(query_, store, all);
  groups_ = std::max<size_t>(1, plan.groups.size());
  try {
    std::string text = render_(answers_of(query_, plan, store, budget), budget);
    finished_ = true;
    return text;
  } catch (const TooManyPoints &) {
    if (request.limits().points <= points_) throw;
    groups_ = std::max<size_t>(1, groups_ / 8);
    return std::nullopt;
  }
}

// Before the first part: there is no error after a part of the text.
void AnswerParts::check(const Plan &plan, store::Store &store, const Budget &request) {
  for (size_t begin = 0; begin < plan.groups.size();) {
    const size_t end = std::min(begin + groups_, plan.groups.size());
    Budget budget = request.part(groups_ > 1 ? points_ : request.limits().points);
    try {
      check_points(query_, plan.part(begin, end), store, budget);
      begin = end;
    } catch (const TooManyPoints &) {
      if (groups_ == 1) throw;
      groups_ = std::max<size_t>(1, groups_ / 2);
    }
  }
  checked_ = true;
}

size_t AnswerParts::groups_after(const Plan &plan) const {
  if (last_.empty()) return 0;
  const auto next = std::upper_bound(plan.groups.begin(), plan.groups.end(), last_,
                                     [](const std::vector<std::string> &key, const Group &group) { return key < group.key; });
  return static_cast<size_t>(next - plan.groups.begin());
}

std::string AnswerParts::part(const Plan &plan, size_t begin, store::Store &store, const Budget &request) {
  for (;;) {
    const size_t end = std::min(begin + groups_, plan.groups.size());
    Plan some = plan.part(begin, end);
    Budget budget = request.part(groups_ > 1 ? points_ : request.limits().points);
    try {
      const std::vector<Answer> answers = answers_of(query_, some, store, budget);
      std::string text = render_(answers, budget);
      size_t points = 1;
      for (const Answer &answer : answers) points += points_of(answer);
      // As many groups as fill three quarters, if the next ones are like these.
      groups_ = std::clamp<size_t>((end - begin) * points_ / points * 3 / 4, 1, 4 * groups_);
      last_ = plan.groups[end - 1].key;
      finished_ = end == plan.groups.size();
      return text;
    } catch (const TooManyPoints &) {
      if (groups_ == 1) throw;
      groups_ = std::max<size_t>(1, groups_ / 2);
    }
  }
}

}  // namespace atalaya::query
