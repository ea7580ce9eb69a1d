// SPDX-License-Identifier: Apache-2.0
// Command plot: the result of a query as a chart.
#include <atalaya/plugin.hpp>

#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "plugins/commands/plot/png.h"
#include "plugins/shared/analysis/command_line/options.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/analysis/experiments/experiments.h"
#include "plugins/shared/analysis/plot/lines.h"
#include "plugins/shared/analysis/plot/svg.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/merge.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::plot {
namespace {

using namespace atalaya::literals;

constexpr size_t kMaxLines = 500;
constexpr size_t kAreas = 8;  // default number of areas of a stacked chart

class PlotCommand final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::kQuestionParams,
      command_line::listed(
          param::string("o", "Output file; - for SVG on standard output").required().unit("FILE.svg|FILE.png"),
          param::string("title", "Title of the chart (default: the metrics)"),
          param::string("compare", "Add a dashed line: this function over all lines of a metric, to find the one that deviates")
              .unit("FUNCTION"),
          param::boolean(
              "stacked",
              "Areas that add up to the total: the largest --top series of each metric (default: 8) and the rest as other"),
          param::boolean("bands", "Shade the experiments and workloads in the range; --experiment shades its workloads"),
          param::integer("width", "Width of the chart").defaults("1000").range(300, 10000).unit("pixels"),
          param::integer("height", "Height of each panel").defaults("400").range(150, 10000).unit("pixels")),
      command_line::kStoreParams);
  static constexpr Description description = {.name = "plot"_str,
                                              .summary = "Draw the result of a query as an SVG or PNG chart"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya plot --metric sys.cpu.usage -o cpu.svg\n"
                                                  "atalaya plot --metric proc.cpu.user --group-by process --stacked -o cpu.svg\n"
                                                  "atalaya plot --metric 'sys.net.*' --experiment sort --bands -o network.svg"_str};

  explicit PlotCommand(Host host)
      : options_(command_line::read_options(host)), question_(command_line::read_question(host)), file_(host.text("o")) {
    plot_.width = static_cast<int>(host.integer("width"));
    plot_.height = static_cast<int>(host.integer("height"));
    if (const auto title = host.find("title")) plot_.title = title->text();
    if (const auto bands = host.find("bands")) bands_ = bands->boolean();
    if (const auto compare = host.find("compare"))
      compare_ = command_line::with_failures([&] { return query::aggregator_of("--compare", compare->text()); });
    if (const auto stacked = host.find("stacked")) plot_.stacked = stacked->boolean();
    if (plot_.stacked) command_line::with_failures([&] { check_stack(); });
    const std::string suffix = command_line::suffix_of(file_);
    png_ = suffix == "png";
    if (!png_ && suffix != "svg" && !suffix.empty())
      throw Failure(Code::bad_config, "-o " + file_ + ": unknown suffix; use .svg or .png");
  }

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures([&] {
      command_line::Reading reading(options_);
      const query::Range &range = reading.range;
      set_interval(question_, range);
      plot_.from_ns = range.from_ns;
      plot_.to_ns = range.to_ns;
      // The comparison and the stack include all series, not only those that are drawn.
      const size_t top = compare_ || plot_.stacked ? std::exchange(question_.top, 0) : 0;
      draw(command_line::run_query(question_, reading), plot_.stacked && top == 0 ? kAreas : top, reading.budget);
      if (bands_ || !options_.experiment.empty())
        add_bands(plot_, experiments::experiments(*reading.store, options_.experiment), options_.experiment, reading.now_ns);
      if (plot_.title.empty()) plot_.title = title();
      const Picture picture = svg_of(plot_);
      command_line::write_output(file_, png_ ? png_of(picture.svg, picture.width, picture.height) : picture.svg);
      return 0;
    });
  }

 private:
  // Only sums of all series add up to the total.
  void check_stack() const {
    if (question_.query.group && question_.query.aggregator.name != query::Aggregator::zimsum().name)
      throw query::Wrong("--stacked adds up: --aggregate must be zimsum or none");
    if (!question_.formula.empty() || compare_) throw query::Wrong("--stacked adds up: omit --formula and --compare");
  }
  void check_areas() const {
    for (const Line &line : plot_.lines)
      for (const query::Point &point : line.points)
        if (point.value < 0)
          throw query::Wrong("--stacked: " + line.label + " has values below 0, which have no area; omit --stacked");
  }

  void draw(std::vector<query::Answer> answers, size_t top, query::Budget &budget) {
    const std::vector<Line> references = compare_ ? compared(answers, budget) : std::vector<Line>{};
    std::vector<query::Answer> rest;
    query::select_top(answers, top, budget, plot_.stacked ? &rest : nullptr);
    if (answers.size() > kMaxLines)
      throw query::TooMuch(std::to_string(answers.size()) +
                           " lines are too many for a chart; select with --tag or --top, or aggregate them with --aggregate");
    if (answers.empty())
      std::fputs("no points in this time range: the chart is empty\n", stderr);
    else
      command_line::check_keys(question_.query.group_by, answers);
    add_lines(plot_, std::move(answers), question_);
    add_others(plot_, std::move(rest), budget);
    if (plot_.stacked) check_areas();
    plot_.lines.insert(plot_.lines.end(), references.begin(), references.end());
  }

  std::vector<Line> compared(const std::vector<query::Answer> &answers, query::Budget &budget) const {
    std::vector<Line> lines;
    for (size_t begin = 0; begin < answers.size();) {
      size_t end = begin;
      std::vector<std::vector<query::Point>> members;
      while (end < answers.size() && answers[end].metric == answers[begin].metric) members.push_back(answers[end++].points);
      lines.push_back({compare_->name + " of " + answers[begin].metric, unit_of(answers[begin]),
                       query::merged(members, *compare_, budget), Role::reference});
      begin = end;
    }
    return lines;
  }

  std::string title() const {
    std::string text = question_.formula;
    if (text.empty())
      for (const std::string &metric : question_.metrics) text += (text.empty() ? "" : ", ") + metric;
    return options_.experiment.empty() ? text : options_.experiment + ": " + text;
  }

  const command_line::ReadOptions options_;
  command_line::Question question_;
  const std::string file_;
  std::optional<query::Aggregator> compare_;
  bool bands_ = false, png_ = false;
  Plot plot_;
};

}  // namespace
}  // namespace atalaya::plot

ATALAYA_PLUGIN("plot", "0.1.0", "command plot", atalaya::plot::PlotCommand)
