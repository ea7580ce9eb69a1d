// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/pictures.h"

#include <map>
#include <utility>

#include "plugins/shared/analysis/plot/lines.h"
#include "plugins/shared/analysis/query/engine.h"

namespace atalaya::report_command {
namespace {

std::string picture_of(const std::string &metric, std::vector<query::Answer> answers, const query::Question &question,
                       const PictureOptions &options, const query::Reading &reading) {
  plot::Plot picture;
  picture.title = metric;
  picture.height = 260;
  picture.from_ns = reading.range.from_ns;
  picture.to_ns = reading.range.to_ns;
  plot::add_lines(picture, std::move(answers), question);
  plot::add_bands(picture, options.experiments, options.experiment, reading.now_ns);
  return plot::svg_of(picture).svg;
}

}  // namespace

void add_pictures(const std::string &pattern, const PictureOptions &options, query::Reading &reading,
                  std::vector<std::string> &pictures) {
  query::Question question;
  question.metrics = {pattern};
  question.query.tags = options.tags;
  question.query.group_by = options.keys;
  plot::set_interval(question, reading.range);
  std::vector<query::Answer> answers = query::answers_to(question, reading);
  query::keep_top(answers, options.lines, reading.budget);
  query::release(answers, reading.budget);
  std::map<std::string, std::vector<query::Answer>> metrics;
  for (query::Answer &answer : answers) metrics[answer.metric].push_back(std::move(answer));
  for (auto &[metric, own] : metrics) pictures.push_back(picture_of(metric, std::move(own), question, options, reading));
}

}  // namespace atalaya::report_command
