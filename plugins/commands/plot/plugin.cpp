// SPDX-License-Identifier: Apache-2.0
// Command plot: the answers of a query as a picture.
#include <atalaya/plugin.hpp>

#include <cerrno>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/util/files.h"
#include "core/util/now.h"
#include "core/util/suggest.h"
#include "core/util/text.h"
#include "plugins/commands/plot/svg.h"
#include "plugins/commands/plot/ticks.h"
#include "plugins/query/engine.h"
#include "plugins/query/merge.h"
#include "plugins/query/metric_info.h"
#include "plugins/query/options.h"
#include "plugins/query/render.h"

namespace atalaya::plot {
namespace {

using namespace atalaya::literals;

constexpr int64_t kPoints = 720;  // about one in two pixels
constexpr size_t kMostLines = 500;

class PlotCommand final : public Command {
 public:
  static constexpr Param params[] = {
      query::metric_param(ATALAYA_REQUIRED),
      query::kTag,
      query::kFrom,
      query::kTo,
      query::kExperiment,
      query::kWorkload,
      query::kAggregate,
      query::kEvery,
      query::kGroupBy,
      query::kRate,
      query::kFormula,
      query::kTop,
      {.name = "o"_str,
       .type = ATALAYA_STRING,
       .flags = ATALAYA_REQUIRED,
       .unit = "FILE.svg"_str,
       .summary = "The file that is written; - for standard output."_str},
      {.name = "title"_str, .type = ATALAYA_STRING, .summary = "Above the picture; without it the metrics."_str},
      {.name = "compare"_str,
       .type = ATALAYA_STRING,
       .unit = "FUNCTION"_str,
       .summary = "A dashed line more: this function over all lines of a metric, to see which member is unlike its group."_str},
      {.name = "bands"_str,
       .type = ATALAYA_BOOL,
       .summary = "Shades the experiments and workloads in the time; with --experiment its workloads anyway."_str},
      {.name = "width"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "1000"_str,
       .unit = "pixels"_str,
       .summary = "How wide it is."_str,
       .min = 300,
       .max = 10000},
      {.name = "height"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "400"_str,
       .unit = "pixels"_str,
       .summary = "How high each panel is."_str,
       .min = 150,
       .max = 10000},
      query::kStore,
      query::kMaxPoints,
      query::kTimeout,
  };
  static constexpr Description description = {
      .name = "plot"_str,
      .summary = "the answers of a query as a picture with axes, units, legend and experiments"_str,
      .params = params,
      .example = "atalaya plot --metric proc.cpu.user --group-by process --top 5 --from -1h -o cpu.svg"_str};

  explicit PlotCommand(Host host)
      : read_(query::read_options(host)), query_(query::read_query_options(host)), file_(host.text("o")) {
    plot_.width = static_cast<int>(host.integer("width"));
    plot_.height = static_cast<int>(host.integer("height"));
    if (const auto title = host.find("title")) plot_.title = title->text();
    if (const auto bands = host.find("bands")) bands_ = bands->boolean();
    if (const auto compare = host.find("compare")) {
      compare_ = query::Aggregator::find(compare->text());
      if (!compare_)
        throw Failure(Code::bad_config, "--compare: " + core::in_quotes(compare->text()) + " is not known" +
                                            core::did_you_mean(compare->text(), query::Aggregator::names()));
    }
    for (const char *other : {".png", ".pdf", ".jpg", ".jpeg"})
      if (file_.ends_with(other))
        throw Failure(Code::bad_config, "-o " + file_ + ": pictures are SVG; name FILE.svg, of which rsvg-convert makes others");
  }

  int run(std::span<const atalaya_str>) override {
    return query::answered([&] {
      const auto store = query::open(read_);
      const int64_t now = core::realtime();
      const query::Range range = query::range_of(read_, *store, now);
      if (!query_.query.downsample)
        query_.query.downsample =
            query::Downsample{round_interval(range.to_ns - range.from_ns, kPoints), std::nullopt, query::Fill::none};
      plot_.from_ns = range.from_ns;
      plot_.to_ns = range.to_ns;
      // All members are compared with, not only those that are shown.
      const size_t top = compare_ ? std::exchange(query_.top, 0) : 0;
      query::Budget budget(read_.limits);
      add_lines(query::answers_to(query_, range, *store, budget), top, budget);
      if (bands_ || !read_.experiment.empty()) add_bands(*store, now);
      if (plot_.title.empty()) plot_.title = title();
      return write(svg_of(plot_));
    });
  }

 private:
  void add_lines(std::vector<query::Answer> answers, size_t top, query::Budget &budget) {
    const std::vector<Line> references = compare_ ? compared(answers, budget) : std::vector<Line>{};
    query::keep_top(answers, top);
    if (answers.size() > kMostLines)
      throw query::TooMuch(std::to_string(answers.size()) +
                           " lines are more than a picture shows; choose with --tag or --top, or --aggregate them");
    if (answers.empty()) std::fputs("no points in this time: the picture is empty\n", stderr);
    for (query::Answer &answer : answers)
      plot_.lines.push_back({query::label_of(answer), unit_of(answer), std::move(answer.points), false});
    plot_.lines.insert(plot_.lines.end(), references.begin(), references.end());
  }

  std::vector<Line> compared(const std::vector<query::Answer> &answers, query::Budget &budget) const {
    std::vector<Line> lines;
    for (size_t begin = 0; begin < answers.size();) {
      size_t end = begin;
      std::vector<std::vector<query::Point>> members;
      while (end < answers.size() && answers[end].metric == answers[begin].metric) members.push_back(answers[end++].points);
      lines.push_back({compare_->name + " of " + answers[begin].metric, unit_of(answers[begin]),
                       query::merged(members, *compare_, budget), true});
      begin = end;
    }
    return lines;
  }

  std::string unit_of(const query::Answer &answer) const {
    if (!query_.formula.empty() || query_.query.aggregator.function == query::Aggregator::Function::count) return "";
    const query::MetricInfo &info = query::metric_info(answer.metric);
    const std::string unit(info.unit == "1" ? "" : info.unit);
    return query_.query.rate ? (unit.empty() ? "1" : unit) + "/s" : unit;
  }

  void add_bands(store::Store &store, int64_t now) {
    for (const query::Experiment &one : query::experiments(store, read_.experiment)) {
      if (!read_.experiment.empty() && one.workload.empty()) continue;
      const Band band{one.start_ns, one.end_ns(now), one.workload.empty() ? one.name : one.workload};
      if (band.to_ns > plot_.from_ns && band.from_ns < plot_.to_ns) plot_.bands.push_back(band);
    }
  }

  std::string title() const {
    std::string text = query_.formula;
    if (text.empty())
      for (const std::string &metric : query_.metrics) text += (text.empty() ? "" : ", ") + metric;
    return read_.experiment.empty() ? text : read_.experiment + ": " + text;
  }

  int write(const std::string &svg) const {
    if (file_ == "-") return std::fwrite(svg.data(), 1, svg.size(), stdout) == svg.size() ? 0 : 1;
    std::FILE *file = std::fopen(file_.c_str(), "w");
    const bool written = file != nullptr && std::fwrite(svg.data(), 1, svg.size(), file) == svg.size();
    const bool closed = file != nullptr && std::fclose(file) == 0;
    if (!written || !closed) throw Failure(Code::permanent, "-o " + file_ + ": " + core::error_text(errno));
    return 0;
  }

  const query::ReadOptions read_;
  query::QueryOptions query_;
  const std::string file_;
  std::optional<query::Aggregator> compare_;
  bool bands_ = false;
  Plot plot_;
};

}  // namespace
}  // namespace atalaya::plot

ATALAYA_PLUGIN("plot", "0.1.0", "command plot", atalaya::plot::PlotCommand)
