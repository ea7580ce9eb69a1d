// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/explain/measure.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "plugins/shared/store/query/engine.h"

namespace atalaya::explain {
namespace {

query::Query query_of(const std::string &metric, const Side &side, const Steps &steps) {
  query::Query query;
  query.metrics = {metric};
  query.tags = side.tags;
  query.range = steps.range();
  query.downsample = steps.downsample();
  return query;
}

std::string host_of(const Tags &tags) {
  const auto found = tags.find("host");
  return found == tags.end() ? "" : found->second;
}

// Metrics of the host itself: series of processes and other entities start and end.
constexpr const char *kPresenceMetrics[] = {"sys.mem.total", "sys.mem.available", "sys.load.1m"};

void add_common(Tags &common, const Tags &tags, bool is_first) {
  if (is_first) {
    common = tags;
    return;
  }
  std::erase_if(common, [&](const auto &tag) {
    const auto other = tags.find(tag.first);
    return other == tags.end() || other->second != tag.second;
  });
}

}  // namespace

Steps::Steps(const Range &range, int64_t window_ns, size_t maximum) : range_(range) {
  const int64_t length = range.to_ns - range.from_ns;
  const int64_t fit = window_ns > 0 ? length / window_ns : static_cast<int64_t>(maximum);
  const int64_t count = std::clamp<int64_t>(fit, 1, static_cast<int64_t>(maximum));
  length_ns_ = std::max<int64_t>(length / count, 1);
  range_.from_ns = range.to_ns - count * length_ns_;
  complete_.assign(static_cast<size_t>(count), true);
}

size_t Steps::complete() const {
  return static_cast<size_t>(std::count(complete_.begin(), complete_.end(), true));
}

query::Downsample Steps::downsample() const {
  query::Downsample downsample;
  downsample.interval_ns = length_ns_;
  downsample.offset_ns = range_.from_ns % length_ns_;
  return downsample;
}

size_t Steps::index_of(int64_t end_ns) const {
  const int64_t index = (end_ns - range_.from_ns) / length_ns_ - 1;
  return index < 0 || index >= static_cast<int64_t>(count()) ? count() : static_cast<size_t>(index);
}

std::vector<double> Steps::complete_values(const std::vector<double> &values) const {
  std::vector<double> kept;
  for (size_t i = 0; i < values.size(); ++i)
    if (complete_[i]) kept.push_back(values[i]);
  return kept;
}

std::vector<query::Answer> answers_of(const query::Query &query, Reader &reader) {
  try {
    return query::run_query(query, reader.store, reader.budget);
  } catch (const query::UnknownMetric &) {
    return {};
  }
}

Parts parts_of(const Resource &resource, const Side &side, const Steps &steps, bool by_host, Reader &reader) {
  Parts parts;
  const double seconds = static_cast<double>(steps.length_ns()) / 1e9;
  for (const std::string &metric : resource.metrics) {
    query::Query query = query_of(metric, side, steps);
    query.tags.insert(query.tags.end(), resource.tags.begin(), resource.tags.end());
    query.group_by = resource.keys;
    if (by_host) query.group_by.emplace_back("host");
    const std::vector<query::Answer> answers = answers_of(query, reader);
    for (const query::Answer &answer : answers) {
      Tags name;
      for (const std::string &key : query.group_by)
        if (const auto tag = answer.tags.find(key); tag != answer.tags.end()) name.insert(*tag);
      Part &part = parts[name];
      add_common(part.common, answer.tags, part.values.empty());
      part.tags = std::move(name);
      part.values.resize(steps.count(), 0);
      // Amounts become amounts per second.
      const bool is_amount = answer.info && answer.info->kind == store::Kind::delta;
      for (const query::Point &point : answer.points)
        if (const size_t step = steps.index_of(point.time_ns); step < steps.count() && std::isfinite(point.value))
          part.values[step] += point.value * resource.scale / (is_amount ? seconds : 1);
    }
    query::release(answers, reader.budget);
  }
  for (auto &[tags, part] : parts)
    for (const auto &[key, value] : tags) part.common.erase(key);
  return parts;
}

Presence presence_of(const Side &side, const Steps &steps, Reader &reader) {
  Presence presence;
  for (const char *metric : kPresenceMetrics) {
    query::Query query = query_of(metric, side, steps);
    std::erase_if(query.tags, [](const store::TagFilter &filter) { return filter.key != "host"; });
    query.group_by = {"host"};
    const std::vector<query::Answer> answers = answers_of(query, reader);
    for (const query::Answer &answer : answers) {
      std::vector<double> &covered = presence.covered[host_of(answer.tags)];
      covered.assign(steps.count(), 0);
      presence.window_ns = std::max(presence.window_ns, answer.window_ns);
      // The integral over a step is the value times its measured part. The value itself changes little.
      double maximum = 0;
      for (const query::Point &point : answer.points) maximum = std::max(maximum, point.value);
      for (const query::Point &point : answer.points)
        if (const size_t step = steps.index_of(point.time_ns); step < steps.count() && maximum > 0)
          covered[step] = std::string_view(metric) == "sys.mem.total" ? point.value / maximum : 1;
    }
    query::release(answers, reader.budget);
    if (!presence.covered.empty()) break;
  }
  return presence;
}

std::set<std::string> hosts_with(std::string_view metric, const Side &side, const Steps &steps, Reader &reader) {
  query::Query query = query_of(std::string(metric), side, steps);
  std::erase_if(query.tags, [](const store::TagFilter &filter) { return filter.key != "host"; });
  query.group_by = {"host"};
  const std::vector<query::Answer> answers = answers_of(query, reader);
  std::set<std::string> whole;
  for (const query::Answer &answer : answers) {
    std::vector<bool> has(steps.count());
    for (const query::Point &point : answer.points)
      if (const size_t step = steps.index_of(point.time_ns); step < steps.count() && std::isfinite(point.value)) has[step] = true;
    size_t missing = 0;
    for (size_t step = 0; step < steps.count(); ++step) missing += steps.is_complete(step) && !has[step];
    if (missing == 0) whole.insert(host_of(answer.tags));
  }
  query::release(answers, reader.budget);
  return whole;
}

}  // namespace atalaya::explain
