// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/point_groups.h"

#include <map>
#include <string_view>

namespace atalaya::store::clickhouse {

void for_each_question(std::span<const Series> series, const std::function<void(const PointQuestion &)> &ask) {
  constexpr size_t kMaxEntities = 10'000;  // 200 KB of text; the server takes 1 MiB
  std::map<std::string_view, PointQuestion> open;
  for (size_t i = 0; i < series.size(); ++i) {
    PointQuestion &question = open[series[i].metric];
    question.metric = series[i].metric;
    question.places.emplace(static_cast<uint64_t>(series[i].entity), i);
    if (question.places.size() < kMaxEntities) continue;
    ask(question);
    question.places.clear();
  }
  for (const auto &[metric, question] : open)
    if (!question.places.empty()) ask(question);
}

void PointGroups::add(const std::vector<Cell> &row) {
  constexpr size_t kMaxPoints = 4096;
  const uint64_t entity = row[1].bits;
  const bool is_count = row[4].bits != 0;
  if (entity != entity_ || is_count != counts_ || times_ns_.size() >= kMaxPoints) deliver();
  entity_ = entity;
  counts_ = is_count;
  times_ns_.push_back(row[2].integer());
  durations_ns_.push_back(row[3].integer());
  values_.push_back(row[5].real());
  if (is_count) exact_.push_back(row[6].integer());
}

void PointGroups::deliver() {
  const auto place = question_.places.find(entity_);
  if (!times_ns_.empty() && place != question_.places.end())
    visitor_.points(place->second, {times_ns_, durations_ns_, values_, exact_});
  times_ns_.clear();
  durations_ns_.clear();
  values_.clear();
  exact_.clear();
}

}  // namespace atalaya::store::clickhouse
