// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/page/page_series.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <unordered_map>

#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"
#include "plugins/commands/serve/page/page_api.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::serve {
namespace {

constexpr int64_t kMaxPoints = 5000;
constexpr size_t kMaxMetrics = 16, kMaxSeries = 500;

using query::Wrong;

query::Query read_series_query(const PageCall &call) {
  const Request &request = call.request;
  query::Query wanted;
  wanted.tags = page_filters(request);
  wanted.range = call.range();
  const std::string aggregate = request.text("aggregate");
  query::set_aggregator(wanted, "aggregate", aggregate.empty() ? "zimsum" : aggregate);
  wanted.group_by = query::parts_of(request.texts("group_by"));
  if (request.flag("rate")) wanted.rate = query::Rate{};
  if (const std::string every = request.text("every"); !every.empty()) {
    query::set_downsample(wanted, "every", every);
    const int64_t length = wanted.downsample->interval_ns;
    if (length > 0 && (wanted.range.to_ns - wanted.range.from_ns) / length > kMaxPoints)
      throw Wrong("every: more than 5000 intervals; use a longer one or a shorter range");
  } else {
    const int64_t points = page_count(request, "points", 300, 1, kMaxPoints);
    wanted.downsample = query::Downsample{interval_for(wanted.range, points), std::nullopt, query::Fill::none, 0};
  }
  return wanted;
}

std::vector<query::Answer> query_answers(const PageCall &call, query::Query wanted, query::Budget &budget) {
  const std::vector<std::string> metrics = query::parts_of(call.request.texts("metric"));
  if (metrics.empty()) throw Wrong("parameter metric is missing");
  if (metrics.size() > kMaxMetrics) throw Wrong("more than 16 metrics");
  const std::vector<std::string> known = call.store.metrics();
  for (const std::string &metric : metrics) {
    // Several metrics: missing ones are ignored, because not every host measures the network.
    if (metrics.size() > 1 && !std::binary_search(known.begin(), known.end(), metric)) continue;
    wanted.metrics.push_back(query::exact_pattern(metric));
  }
  if (wanted.metrics.empty()) return {};
  return query::run_query(wanted, call.store, budget);
}

// The label of a series: the values of the grouping keys; without them, the tags in which the series differ; without these, the
// metric.
std::string name_of(const query::Tags &tags, const query::Query &wanted, const query::Tags &common, const std::string &metric) {
  std::string name;
  for (const std::string &key : wanted.group_by)
    if (const auto tag = tags.find(key); tag != tags.end()) name += (name.empty() ? "" : " ") + tag->second;
  if (!name.empty()) return name;
  query::Tags own;
  for (const auto &tag : tags)
    if (!common.contains(tag.first)) own.insert(tag);
  return own.empty() ? metric : command_line::tags_text(own);
}

// Position of each time in the columns.
class TimeColumn {
 public:
  explicit TimeColumn(const TopSeries &shown) {
    std::set<int64_t> all;
    for (const query::Answer &answer : shown.answers)
      for (const query::Point &point : answer.points) all.insert(point.time_ns);
    for (const query::Point &point : shown.other) all.insert(point.time_ns);
    times_.assign(all.begin(), all.end());
  }
  void write_times(core::JsonWriter &json) const {
    json.list();
    for (const int64_t time : times_) json.milliseconds(time);
    json.end_list();
  }
  void write(core::JsonWriter &json, const std::vector<query::Point> &points) const {
    json.list();
    size_t next = 0;
    for (const int64_t time : times_) {
      while (next < points.size() && points[next].time_ns < time) ++next;
      const bool has_one = next < points.size() && points[next].time_ns == time;
      json.number(has_one ? std::optional(points[next].value) : std::nullopt);
    }
    json.end_list();
  }

 private:
  std::vector<int64_t> times_;
};

void write_series(core::JsonWriter &json, const TopSeries &shown, const query::Query &wanted, const std::string &metric,
                  bool other) {
  const query::Tags common = command_line::common_tags(shown.answers);
  const TimeColumn column(shown);
  column.write_times(json.key("times"));
  json.key("series").list();
  for (const query::Answer &answer : shown.answers) {
    json.object().key("name").text(name_of(answer.tags, wanted, common, metric)).key("tags").members(answer.tags);
    json.key("other").boolean(false);
    column.write(json.key("values"), answer.points);
    json.key("coverage").number(answer.coverage).end_object();
  }
  if (other) {
    json.object().key("name").text("other").key("tags").object().end_object().key("other").boolean(true);
    column.write(json.key("values"), shown.other);
    json.end_object();
  }
  json.end_list();
}

}  // namespace

std::string page_series(PageCall &call) {
  const query::Query wanted = read_series_query(call);
  const bool other = call.request.flag("other");
  const bool adds_up = wanted.group && (wanted.aggregator.name == "zimsum" || wanted.aggregator.name == "count");
  if (other && !adds_up) throw Wrong("other: only sums have a rest; use aggregate=zimsum or count");
  const auto top = static_cast<size_t>(page_count(call.request, "top", 50, 1, kMaxSeries));
  std::vector<query::Answer> answers = query_answers(call, wanted, call.budget);
  const std::shared_ptr<const store::MetricInfo> info = answers.empty() ? nullptr : answers.front().info;
  const std::string metric = call.request.text("metric");
  int64_t window_ns = 0;
  for (const query::Answer &answer : answers) window_ns = std::max(window_ns, answer.window_ns);
  TopSeries shown = top_series(summed(std::move(answers), wanted.group_by, wanted.group, call.budget), top, call.budget);
  const bool has_other = other && shown.omitted_count > 0;
  if (!has_other) shown.other.clear();

  core::JsonWriter json;
  json.object().key("metric").text(metric).key("unit").text_or_null(info ? info->unit : "");
  json.key("kind").text_or_null(info ? store::text_of(info->kind) : "");
  json.key("every").milliseconds(wanted.downsample->interval_ns);
  write_series(json, shown, wanted, metric, has_other);
  json.key("warnings").list();
  if (shown.omitted_count > 0 && !has_other)
    json.text(std::to_string(shown.omitted_count) + " of " + std::to_string(shown.omitted_count + shown.answers.size()) +
              " series are not shown: those with the smallest integrals");
  double coverage = 1;
  for (const query::Answer &answer : shown.answers) coverage = std::min(coverage, answer.coverage);
  if (const std::string text = command_line::coverage_text(coverage, window_ns, wanted.range); !text.empty()) json.text(text);
  if (const std::string damage = call.store.take_damage(); !damage.empty()) json.text(damage);
  return json.end_list().end_object().take();
}

}  // namespace atalaya::serve
