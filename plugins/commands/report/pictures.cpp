// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/pictures.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plugins/shared/analysis/plot/lines.h"
#include "plugins/shared/store/query/engine.h"

namespace atalaya::report_command {
namespace {

// Whether a chart may stack the series as areas: not for totals and values below 0, whose sum has no meaning.
bool adds_up(const plot::Plot &picture) {
  const auto is_area = [](const plot::Line &line) {
    return line.from_zero &&
           std::none_of(line.points.begin(), line.points.end(), [](const query::Point &point) { return point.value < 0; });
  };
  return std::all_of(picture.lines.begin(), picture.lines.end(), is_area);
}

struct Answers {
  std::vector<query::Answer> shown, rest;
};

std::string picture_of(const std::string &metric, Answers answers, const command_line::Question &question,
                       const PictureOptions &options, command_line::Reading &reading) {
  plot::Plot picture;
  picture.title = metric;
  picture.height = 260;
  picture.from_ns = reading.range.from_ns;
  picture.to_ns = reading.range.to_ns;
  plot::add_lines(picture, std::move(answers.shown), question);
  plot::add_others(picture, std::move(answers.rest), reading.budget);
  picture.stacked = !options.keys.empty() && adds_up(picture);
  if (!picture.stacked) std::erase_if(picture.lines, [](const plot::Line &line) { return line.role == plot::Role::other; });
  plot::add_bands(picture, options.experiments, options.experiment, reading.now_ns);
  return plot::svg_of(picture).svg;
}

}  // namespace

void add_pictures(const std::string &pattern, const PictureOptions &options, command_line::Reading &reading,
                  std::vector<std::string> &pictures) {
  command_line::Question question;
  question.metrics = {pattern};
  question.query.tags = options.tags;
  question.query.group_by = options.keys;
  plot::set_interval(question, reading.range);
  std::vector<query::Answer> answers = command_line::run_query(question, reading);
  std::vector<query::Answer> rest;
  query::select_top(answers, options.lines, reading.budget, &rest);
  query::release(answers, reading.budget);
  std::map<std::string, Answers> metrics;
  for (query::Answer &answer : answers) metrics[answer.metric].shown.push_back(std::move(answer));
  for (query::Answer &answer : rest) metrics[answer.metric].rest.push_back(std::move(answer));
  for (auto &[metric, own] : metrics) pictures.push_back(picture_of(metric, std::move(own), question, options, reading));
}

}  // namespace atalaya::report_command
