// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/plot/lines.h"

#include <algorithm>
#include <utility>

#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/plot/ticks.h"
#include "plugins/shared/io/units/unit_text.h"
#include "plugins/shared/store/query/merge.h"
#include "plugins/shared/store/query/usage.h"

namespace atalaya::plot {
namespace {

constexpr int64_t kPoints = 720;  // maximum points of a line: approximately one per two pixels

// The name of a group consists of its group-by tags; other tags that all members have are not part of it.
query::Tags naming_tags(const query::Answer &answer, const query::Query &query) {
  const bool all = query.group_by.empty() || std::find(query.group_by.begin(), query.group_by.end(), "*") != query.group_by.end();
  if (all || !query.group) return answer.tags;
  query::Tags tags;
  for (const std::string &key : query.group_by) {
    const auto found = answer.tags.find(key);
    tags.emplace(key, found == answer.tags.end() ? "" : found->second);
  }
  return tags;
}

}  // namespace

void set_interval(command_line::Question &question, const query::Range &range) {
  if (question.query.downsample) return;
  question.query.downsample = {round_interval(range.to_ns - range.from_ns, kPoints), std::nullopt, query::Fill::none};
}

std::string unit_of(const query::Answer &answer) {
  if (!answer.info) return "";
  return query::is_per_core(answer.metric, *answer.info) ? "% of one core" : io::shown_unit(answer.info->unit);
}

void add_lines(Plot &plot, std::vector<query::Answer> answers, const command_line::Question &question) {
  const bool one_metric = std::all_of(answers.begin(), answers.end(),
                                      [&](const query::Answer &answer) { return answer.metric == answers.front().metric; });
  const query::Tags common = command_line::common_tags(answers);
  plot.subtitle = command_line::tags_text(common);
  plot.lines.reserve(plot.lines.size() + answers.size());
  for (query::Answer &answer : answers) {
    const bool counter = answer.info && answer.info->kind == store::Kind::total;
    Line line{"", unit_of(answer), std::move(answer.points), Role::member, !counter};
    answer.tags = naming_tags(answer, question.query);
    std::erase_if(answer.tags, [&](const auto &tag) { return common.contains(tag.first); });
    line.label = one_metric && !answer.tags.empty() ? command_line::tags_text(answer.tags) : command_line::label_of(answer);
    plot.lines.push_back(std::move(line));
  }
}

void add_others(Plot &plot, std::vector<query::Answer> rest, query::Budget &budget) {
  bool one_metric = true;
  for (const query::Answer &answer : rest) one_metric = one_metric && answer.metric == rest.front().metric;
  for (size_t begin = 0; begin < rest.size();) {
    size_t end = begin;
    std::vector<std::vector<query::Point>> members;
    while (end < rest.size() && rest[end].metric == rest[begin].metric) members.push_back(std::move(rest[end++].points));
    const std::string label = "other (" + std::to_string(members.size()) + ")";
    plot.lines.push_back({one_metric ? label : rest[begin].metric + " " + label, unit_of(rest[begin]),
                          query::merged(members, query::Aggregator::zimsum(), budget), Role::other});
    for (const auto &member : members) budget.release(member.size());
    begin = end;
  }
}

void add_bands(Plot &plot, const std::vector<experiments::Experiment> &experiments, const std::string &name, int64_t now_ns) {
  for (const experiments::Experiment &one : experiments) {
    if (!name.empty() && (one.name != name || one.workload.empty())) continue;
    const Band band{one.start_ns, one.end_ns(now_ns), one.workload.empty() ? one.name : one.workload};
    if (band.to_ns > plot.from_ns && band.from_ns < plot.to_ns) plot.bands.push_back(band);
  }
}

}  // namespace atalaya::plot
