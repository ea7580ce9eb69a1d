// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "core/base/text/safe_text.h"
#include "plugins/commands/phases/tables.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/phases/mining/change_points.h"
#include "plugins/shared/analysis/plot/axis_unit.h"
#include "plugins/shared/analysis/plot/marks.h"
#include "plugins/shared/analysis/plot/ticks.h"
#include "plugins/shared/io/units/unit_text.h"

namespace atalaya::phases {
namespace {

using plot::add_line;
using plot::add_text;
using plot::pixels;

constexpr int kWidth = 1200, kLeft = 78, kRight = 20, kTop = 66, kPanel = 84, kGap = 24, kRow = 15;
constexpr size_t kFunctions = 4, kWidestFunction = 84;
constexpr std::array kColours = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb5566", "#999933"};

std::vector<double> values_of(const ProcessTrace &trace, size_t resource) {
  std::vector<double> values;
  values.reserve(trace.resources.size());
  for (const ResourceValues &one : trace.resources) values.push_back(one.values[resource]);
  return values;
}

double largest(const std::vector<double> &values) {
  double maximum = 0;
  for (const double value : values)
    if (std::isfinite(value)) maximum = std::max(maximum, value);
  return maximum;
}

// The resources that the run used; others are not drawn.
std::vector<size_t> used_resources(const ProcessTrace &trace) {
  std::vector<size_t> used;
  for (size_t r = 0; r < kResources; ++r)
    if (largest(values_of(trace, r)) > 0.01) used.push_back(r);
  return used;
}

SeriesSet series_of(const ProcessTrace &trace, const std::vector<size_t> &resources) {
  SeriesSet series;
  for (const size_t r : resources) series.push_back(values_of(trace, r));
  return series;
}

// The unit in a label. It says "of one core", because the CPU time of a process may exceed 100 %.
std::string unit_of(size_t resource) {
  return resource == kCpu ? "% of one core" : io::shown_unit(kResourceUnits[resource]);
}

class RunPicture {
 public:
  RunPicture(const LearnedRun &run, const PhaseDatabase &database)
      : run_(run), database_(database), trace_(run.trace.trace), resources_(used_resources(run.trace)) {}

  std::string draw() {
    const SeriesSet series = series_of(run_.trace, resources_);
    const auto r_points = change_points(series, 5);
    SeriesSet both = series;
    for (auto &one : function_series(trace_, 5)) both.push_back(std::move(one));
    const auto rs_points = change_points(both, 5);
    const double bottom = resources_.empty() ? kTop : kTop + static_cast<double>(resources_.size()) * (kPanel + kGap) - kGap;
    for (size_t i = 0; i < series.size(); ++i) panel(i, series[i]);
    for (const size_t at : r_points)
      add_line(out_, x_of(start_of(at)), kTop - 4, x_of(start_of(at)), bottom, " stroke=\"#c33\" stroke-dasharray=\"4 3\"");
    times(bottom);
    double y = bottom + 48;
    y = braces(y, "S", segments());
    y = braces(y, "R+S", pieces(rs_points));
    const int height = static_cast<int>(std::ceil(code(y))) + 16;
    return head(height, r_points.size(), rs_points.size()) + out_ + "</svg>\n";
  }

 private:
  struct Brace {
    size_t begin, end;
    std::string label, colour;
  };

  // Windows must not overlap in the picture: a window that was merged over time starts at the end of the previous one.
  int64_t start_of(size_t sample) const {
    const int64_t start_ns = trace_.time_ns(sample) - run_.trace.durations_ns[sample];
    return sample == 0 ? start_ns : std::max(start_ns, trace_.time_ns(sample - 1));
  }
  double seconds() const { return static_cast<double>(trace_.time_ns(trace_.size() - 1) - start_of(0)) / 1e9; }
  double x_of(int64_t time_ns) const { return x_after(static_cast<double>(time_ns - start_of(0)) / 1e9); }
  double x_after(double seconds_of_run) const {
    return kLeft + (kWidth - kLeft - kRight) * seconds_of_run / std::max(seconds(), 1e-9);
  }

  std::string head(int height, size_t r_points, size_t rs_points) const {
    size_t phases = 0;
    for (const Segment &segment : run_.segments) phases += segment.phase != kNoPhase ? 1 : 0;
    const std::string title =
        run_.trace.process + ", process " + run_.trace.pid + (run_.trace.host.empty() ? "" : " on " + run_.trace.host);
    const std::string what = "Phases by stacks (S): " + std::to_string(phases) +
                             ". Changes of resources (R, dashed lines): " + std::to_string(r_points) +
                             ". Changes of resources and stacks (R+S): " + std::to_string(rs_points) + ".";
    std::string out = command_line::svg_head(kWidth, height);
    add_text(out, kWidth / 2.0, 22, "middle", core::cut_to_width(title, kWidth / 9), " font-size=\"15\"");
    add_text(out, kWidth / 2.0, 40, "middle", what, " fill=\"#555\"");
    return out;
  }

  void panel(size_t index, const std::vector<double> &values) {
    const double top = kTop + static_cast<double>(index) * (kPanel + kGap), bottom = top + kPanel, right = kWidth - kRight;
    const std::string unit = unit_of(resources_[index]);
    const double maximum = largest(values);
    const plot::AxisUnit shown = plot::axis_unit(unit, maximum * plot::base_factor(unit));
    const double factor = plot::base_factor(unit) / shown.factor;
    const plot::Scale scale = plot::scale_of(0, maximum * factor, 3);
    const auto y_of = [&](double value) { return bottom - value / scale.high * kPanel; };
    for (const double value : plot::marks(scale)) {
      add_line(out_, kLeft, y_of(value), right, y_of(value),
               value == 0 ? " class=\"zero\" stroke=\"#777\"" : " class=\"grid\" stroke=\"#e4e4e4\"");
      add_text(out_, kLeft - 6, y_of(value) + 4, "end", plot::tick_text(value, scale.step));
    }
    const double middle = (top + bottom) / 2;
    add_text(out_, 16, middle, "middle", shown.name,
             (" transform=\"rotate(-90 16 " + pixels(middle) + ")\" fill=\"#555\"").c_str());
    add_text(out_, kLeft, top - 6, "start", kResourceTexts[resources_[index]]);
    out_ += "<path class=\"resource\" d=\"" + path_of(values, [&](double value) { return y_of(value * factor); }) +
            "\" fill=\"none\" stroke=\"" + kColours[index % kColours.size()] +
            "\" stroke-width=\"1.3\" stroke-linecap=\"round\"/>\n";
  }

  // A value is drawn in the middle of its window; unknown values and missing windows are gaps.
  template <class YOf>
  std::string path_of(const std::vector<double> &values, YOf &&y_of) const {
    std::string path;
    bool is_down = false;
    for (size_t i = 0; i < values.size(); ++i) {
      is_down = is_down && start_of(i) <= trace_.time_ns(i - 1) + run_.trace.durations_ns[i] / 2;
      const bool is_known = std::isfinite(values[i]);
      const std::string point = pixels((x_of(start_of(i)) + x_of(trace_.time_ns(i))) / 2) + " " + pixels(y_of(values[i]));
      if (is_known) path += is_down ? "L" + point : "M" + point + "h0";  // one point alone is a dot
      is_down = is_known;
    }
    return path;
  }

  void times(double y) {
    const plot::Scale scale = plot::scale_of(0, seconds(), 10);
    for (const double value : plot::marks(scale)) {
      if (value > seconds()) break;
      add_line(out_, x_after(value), y, x_after(value), y + 4, " stroke=\"#999\"");
      add_text(out_, x_after(value), y + 17, "middle", plot::tick_text(value, scale.step));
    }
    add_text(out_, (kLeft + kWidth - kRight) / 2.0, y + 33, "middle",
             "seconds of " + plot::time_title(start_of(0), trace_.time_ns(trace_.size() - 1)), " fill=\"#555\"");
  }

  std::string id_of(const Segment &segment) const { return run_.ids[segment.phase]; }
  std::string colour_of(const Segment &segment) const { return kColours[segment.phase % kColours.size()]; }

  std::vector<Brace> segments() const {
    std::vector<Brace> braces;
    for (const Segment &segment : run_.segments)
      if (segment.phase != kNoPhase) braces.push_back({segment.begin, segment.end, id_of(segment), colour_of(segment)});
    return braces;
  }
  std::vector<Brace> pieces(const std::vector<size_t> &points) const {
    std::vector<Brace> braces;
    size_t begin = 0;
    for (size_t i = 0; i <= points.size(); ++i) {
      const size_t end = i < points.size() ? points[i] : trace_.size();
      braces.push_back({begin, end, "", "#777"});
      begin = end;
    }
    return braces;
  }

  // Labels that do not fit next to each other alternate between two lines.
  double braces(double y, const std::string &name, const std::vector<Brace> &all) {
    add_text(out_, kLeft - 6, y + 10, "end", name, " font-weight=\"bold\"");
    size_t labelled = 0;
    bool has_labels = false;
    for (const Brace &brace : all) {
      const double x1 = x_of(start_of(brace.begin)) + 1, x2 = std::max(x_of(trace_.time_ns(brace.end - 1)) - 1, x1 + 1);
      const double middle = (x1 + x2) / 2, bend = std::min(6.0, (x2 - x1) / 4);
      out_ += "<path d=\"M" + pixels(x1) + " " + pixels(y) + "q0 6 " + pixels(bend) + " 6L" + pixels(middle - bend) + " " +
              pixels(y + 6) + "q" + pixels(bend) + " 0 " + pixels(bend) + " 6q0 -6 " + pixels(bend) + " -6L" + pixels(x2 - bend) +
              " " + pixels(y + 6) + "q" + pixels(bend) + " 0 " + pixels(bend) + " -6\" fill=\"none\" stroke=\"" + brace.colour +
              "\" stroke-width=\"1.6\"/>\n";
      if (brace.label.empty()) continue;
      has_labels = true;
      const auto room = static_cast<size_t>(std::max((x2 - x1) / 6.2, 0.0));
      if (room < 4) continue;
      add_text(out_, middle, y + 25 + static_cast<double>(labelled++ % 2) * 13, "middle",
               core::cut_to_width(brace.label, 2 * room));
    }
    return y + (has_labels ? 52 : 24);
  }

  // Draws the functions of each phase.
  double code(double y) {
    y += 12;
    constexpr double kColumn = (kWidth - kLeft - kRight) / 2.0;
    double row_top = y, lowest = y;
    std::set<uint8_t> phases;
    for (const Segment &segment : run_.segments)
      if (segment.phase != kNoPhase) phases.insert(segment.phase);
    size_t place = 0;
    for (const uint8_t i : phases) {
      const double x = place % 2 == 0 ? 20 : 20 + kColumn + kLeft / 2.0;
      if (place++ % 2 == 0) row_top = lowest;
      const KnownPhase *const known = database_.find(run_.trace.process, run_.ids[i]);
      if (known == nullptr) continue;
      out_ += "<rect x=\"" + pixels(x) + "\" y=\"" + pixels(row_top) + "\" width=\"10\" height=\"10\" fill=\"" +
              kColours[i % kColours.size()] + "\"/>\n";
      add_text(
          out_, x + 16, row_top + 9, "start",
          run_.ids[i] + ": epoch of " + std::to_string(known->phase.epoch) + (known->phase.epoch == 1 ? " sample" : " samples"),
          " font-weight=\"bold\"");
      double at = row_top + 9;
      for (const std::string &function : top_functions(*known, database_.symbols(), kFunctions))
        add_text(out_, x + 16, at += kRow, "start", core::cut_to_width(function, kWidestFunction), " fill=\"#444\"");
      lowest = std::max(lowest, at + 14);
    }
    return lowest;
  }

  const LearnedRun &run_;
  const PhaseDatabase &database_;
  const Trace &trace_;
  const std::vector<size_t> resources_;
  std::string out_;
};

}  // namespace

std::string picture_of(const LearnedRun &run, const PhaseDatabase &database) {
  return RunPicture(run, database).draw();
}

}  // namespace atalaya::phases
