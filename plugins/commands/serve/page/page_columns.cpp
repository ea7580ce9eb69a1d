// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "plugins/commands/serve/page/page_series.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/merge.h"
#include "plugins/shared/store/query/windows/collected.h"

namespace atalaya::serve {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr std::array<int64_t, 22> kLengths = {1,    2,    5,    10,    15,    30,    60,    120,    300,    600,     900,
                                              1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800, 2592000, 31536000};

query::Tags key_of(const query::Answer &answer, const std::vector<std::string> &keys, bool grouped) {
  if (!grouped) return answer.tags;
  query::Tags key;
  for (const std::string &name : keys)
    if (const auto tag = answer.tags.find(name); tag != answer.tags.end()) key.insert(*tag);
  return key;
}

// Adds all answers to the first one.
void add_up(std::vector<query::Answer> &answers, query::Budget &budget) {
  std::vector<std::vector<query::Point>> points;
  points.reserve(answers.size());
  query::Answer &first = answers.front();
  for (query::Answer &answer : answers) {
    points.push_back(std::move(answer.points));
    if (&answer != &first) query::add_partly(answer, first);
    if (&answer != &first && first.integral && answer.integral) *first.integral += *answer.integral;
  }
  first.counts.clear();
  first.points = query::merged(points, query::Aggregator::zimsum(), budget);
  for (const auto &of_one : points) budget.release(of_one.size());
  answers.resize(1);
}

}  // namespace

int64_t interval_for(const query::Range &range, int64_t points) {
  const int64_t minimum = (range.to_ns - range.from_ns) / kSecond / points;
  for (const int64_t length : kLengths)
    if (length >= minimum) return length * kSecond;
  return kLengths.back() * kSecond;
}

std::vector<query::Answer> summed(std::vector<query::Answer> answers, const std::vector<std::string> &keys, bool grouped,
                                  query::Budget &budget) {
  std::map<query::Tags, std::vector<query::Answer>> groups;
  for (query::Answer &answer : answers) groups[key_of(answer, keys, grouped)].push_back(std::move(answer));
  std::vector<query::Answer> sums;
  sums.reserve(groups.size());
  for (auto &[key, group] : groups) {
    if (group.size() > 1) add_up(group, budget);
    group.front().metric = "";  // select_top requires answers of one metric
    sums.push_back(std::move(group.front()));
  }
  return sums;
}

TopSeries top_series(std::vector<query::Answer> answers, size_t top, query::Budget &budget) {
  query::select_top(answers, answers.size(), budget);  // sorts the answers
  TopSeries shown;
  shown.omitted_count = answers.size() > top ? answers.size() - top : 0;
  std::vector<std::vector<query::Point>> rest;
  rest.reserve(shown.omitted_count);
  for (size_t i = answers.size() - shown.omitted_count; i < answers.size(); ++i) rest.push_back(std::move(answers[i].points));
  answers.resize(answers.size() - shown.omitted_count);
  if (!rest.empty()) shown.other = query::merged(rest, query::Aggregator::zimsum(), budget);
  shown.answers = std::move(answers);
  return shown;
}

}  // namespace atalaya::serve
