// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/plot/svg.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/evidence/statistics.h"
#include "plugins/shared/analysis/plot/axis_unit.h"
#include "plugins/shared/analysis/plot/legend.h"
#include "plugins/shared/analysis/plot/marks.h"
#include "plugins/shared/analysis/plot/stack.h"
#include "plugins/shared/analysis/plot/ticks.h"

namespace atalaya::plot {
namespace {

constexpr int kTop = 14, kBottom = 40, kTitle = 34, kSubtitle = 12;  // pixels

// The lines of one dimension, with their axis on the left or the right.
struct Axis {
  std::string dimension;
  AxisUnit unit;
  Scale scale;  // scale of values in this unit
  std::vector<size_t> lines;
  Stack stack;  // the areas of a stacked plot

  // Converts a value of this line to the unit of the axis.
  double scaled(const Line &line, double value) const { return value * base_factor(line.unit) / unit.factor; }
};

struct Panel {
  std::vector<Axis> axes;  // one or two
};

Axis axis_of(const Plot &plot, const std::string &dimension) {
  Axis axis;
  axis.dimension = dimension;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  bool from_zero = plot.stacked;
  std::string own_unit;
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    const Line &line = plot.lines[i];
    if (dimension_of(line.unit) != dimension) continue;
    if (axis.lines.empty()) own_unit = line.unit;
    axis.lines.push_back(i);
    from_zero = from_zero || line.from_zero;
    for (const query::Point &point : line.points) {
      if (!std::isfinite(point.value)) continue;
      low = std::min(low, point.value * base_factor(line.unit));
      high = std::max(high, point.value * base_factor(line.unit));
    }
  }
  if (plot.stacked) {
    axis.stack = stack_of(plot.lines, axis.lines);
    high = axis.stack.highest();
    low = std::min(low, high);
  }
  if (from_zero && low > 0) low = 0;
  if (from_zero && high < 0) high = 0;
  axis.unit = axis_unit(own_unit, std::max(std::fabs(low), std::fabs(high)));
  axis.scale = scale_of(low / axis.unit.factor, high / axis.unit.factor, 6);
  return axis;
}

// A stacked plot has one axis, because its areas would hide those of a second one.
std::vector<Panel> panels_of(const Plot &plot) {
  const size_t axes = plot.stacked ? 1 : 2;
  std::vector<std::string> dimensions;
  for (const Line &line : plot.lines)
    if (std::find(dimensions.begin(), dimensions.end(), dimension_of(line.unit)) == dimensions.end())
      dimensions.push_back(dimension_of(line.unit));
  std::vector<Panel> panels;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (i % axes == 0) panels.emplace_back();
    panels.back().axes.push_back(axis_of(plot, dimensions[i]));
  }
  if (panels.empty()) panels.push_back({{Axis{}}});
  return panels;
}

// The colour index of a line: the areas of each panel start with the first colour; a line has the same colour in all panels.
size_t style_of(const Plot &plot, const Axis &axis, size_t place) {
  return plot.stacked ? place : axis.lines[place];
}

Legend legend_of(const Plot &plot, const Panel &panel) {
  std::vector<Legend::Entry> entries;
  for (const Axis &axis : panel.axes)
    for (size_t place = 0; place < axis.lines.size(); ++place)
      entries.push_back({axis.lines[place], axis.unit.name, style_of(plot, axis, place)});
  return Legend(plot, std::move(entries));
}

// The usual distance of two points; a much longer distance is a gap. It is the 80 % quantile, because series with pauses have many
// long distances.
int64_t usual_distance(const std::vector<int64_t> &times) {
  std::vector<int64_t> distances;
  for (size_t i = 1; i < times.size(); ++i) distances.push_back(times[i] - times[i - 1]);
  if (distances.empty()) return 0;
  return evidence::at_rank(distances, distances.size() / 5);
}

int64_t usual_distance(const std::vector<query::Point> &points) {
  std::vector<int64_t> times;
  times.reserve(points.size());
  for (const query::Point &point : points) times.push_back(point.time_ns);
  return usual_distance(times);
}

// Minimum points from which the interval of a series is estimated.
constexpr size_t kFewPoints = 8;

// The minimum of the usual distances of all lines; 0: unknown.
int64_t shortest_distance(const std::vector<Line> &lines) {
  int64_t shortest = 0;
  for (const Line &line : lines) {
    if (line.points.size() < kFewPoints) continue;
    const int64_t usual = usual_distance(line.points);
    if (shortest == 0 || usual < shortest) shortest = usual;
  }
  return shortest;
}

class Drawing {
 public:
  Drawing(const Plot &plot, std::string &out, int top)
      : plot_(plot), out_(out), top_(top), shortest_distance_(shortest_distance(plot.lines)) {}

  void panel(const Panel &panel, bool labelled) {
    bands(labelled);
    grid(panel);
    times();
    for (size_t i = 0; i < panel.axes.size(); ++i) {
      axis(panel.axes[i], i == 1);
      const Axis &own = panel.axes[i];
      for (size_t line = 0; line < own.lines.size(); ++line)
        plot_.stacked ? area(own, line) : draw(plot_.lines[own.lines[line]], own.lines[line], own);
    }
  }

 private:
  double right() const { return plot_.width - kRight; }
  double upper() const { return top_ + kTop; }
  double lower() const { return top_ + plot_.height - kBottom; }
  double x_of(int64_t time_ns) const {
    const double part = static_cast<double>(time_ns - plot_.from_ns) / static_cast<double>(plot_.to_ns - plot_.from_ns);
    return kLeft + std::clamp(part, 0.0, 1.0) * (right() - kLeft);
  }
  double y_of(double value, const Scale &scale) const {
    return lower() - (value - scale.low) / (scale.high - scale.low) * (lower() - upper());
  }

  void bands(bool labelled) {
    size_t row = 0;
    for (const Band &band : plot_.bands) {
      const double from = x_of(band.from_ns);
      const double to = x_of(band.to_ns);
      if (to - from < 0.1) continue;
      out_ += "<rect x=\"" + pixels(from) + "\" y=\"" + pixels(upper()) + "\" width=\"" + pixels(to - from) + "\" height=\"" +
              pixels(lower() - upper()) + "\" fill=\"" + (row % 2 == 0 ? "#0072b2" : "#e69f00") +
              "\" fill-opacity=\"0.08\"><title>" + command_line::xml_text(band.label) + "</title></rect>\n";
      const auto room = static_cast<size_t>((to - from) / kCharacterWidth);
      if (labelled && room > 2)
        add_text(out_, from + 4, upper() + 12 + static_cast<double>(row % 4) * 12, "start", core::cut_to_width(band.label, room),
                 " fill=\"#555\"");
      ++row;
    }
  }

  void grid(const Panel &panel) {
    const Scale &scale = panel.axes[0].scale;
    for (const double value : marks(scale))
      add_line(out_, kLeft, y_of(value, scale), right(), y_of(value, scale), " class=\"grid\" stroke=\"#e4e4e4\"");
    if (scale.low < 0 && scale.high > 0)
      add_line(out_, kLeft, y_of(0, scale), right(), y_of(0, scale), " class=\"zero\" stroke=\"#777\"");
    out_ += "<rect x=\"" + pixels(kLeft) + "\" y=\"" + pixels(upper()) + "\" width=\"" + pixels(right() - kLeft) + "\" height=\"" +
            pixels(lower() - upper()) + "\" fill=\"none\" stroke=\"#999\"/>\n";
  }

  void times() {
    for (const TimeTick &tick : time_ticks(plot_.from_ns, plot_.to_ns, std::max(2, plot_.width / 110))) {
      const double x = x_of(tick.time_ns);
      add_line(out_, x, lower(), x, lower() + 4, " stroke=\"#999\"");
      add_text(out_, x, lower() + 17, "middle", tick.text);
    }
    add_text(out_, (kLeft + right()) / 2, lower() + 33, "middle", time_title(plot_.from_ns, plot_.to_ns), " fill=\"#555\"");
  }

  void axis(const Axis &axis, bool on_right) {
    const double x = on_right ? right() + 6 : kLeft - 6;
    for (const double value : marks(axis.scale))
      add_text(out_, x, y_of(value, axis.scale) + 4, on_right ? "start" : "end", tick_text(value, axis.scale.step));
    const double middle = (upper() + lower()) / 2;
    const double side = on_right ? plot_.width - 12 : 16;
    const std::string turn = " transform=\"rotate(-90 " + pixels(side) + " " + pixels(middle) + ")\" fill=\"#555\"";
    add_text(out_, side, middle, "middle", axis.unit.name, turn.c_str());
  }

  void draw(const Line &line, size_t index, const Axis &axis) {
    const int64_t gap = distance_of(line) * 5 / 2;
    std::string path, dots;
    bool pen_down = false;
    for (size_t i = 0; i < line.points.size(); ++i) {
      const query::Point &point = line.points[i];
      const bool far = i > 0 && gap > 0 && point.time_ns - line.points[i - 1].time_ns > gap;
      if (!std::isfinite(point.value)) {
        pen_down = false;
        continue;
      }
      const bool next_far = i + 1 == line.points.size() || !std::isfinite(line.points[i + 1].value) ||
                            (gap > 0 && line.points[i + 1].time_ns - point.time_ns > gap);
      if (!pen_down || far)
        path += "M";
      else
        path += "L";
      path += pixels(x_of(point.time_ns)) + " " + pixels(y_of(axis.scaled(line, point.value), axis.scale));
      // A single point has no visible line, so it is drawn as a dot.
      if ((!pen_down || far) && next_far) dots += dot(point, index, line, axis);
      pen_down = true;
    }
    if (path.empty()) return;
    out_ += "<path d=\"" + path + "\" fill=\"none\"" + stroke_of(index, line) + " stroke-width=\"" +
            (line.role == Role::reference ? "2.5" : "1.4") + "\" stroke-linejoin=\"round\"><title>" +
            command_line::xml_text(line.label) + "</title></path>\n" + dots;
  }

  // Draws the area of one line of a stack: forward along its top, back along the top of the line below. Time without samples is a
  // gap.
  void area(const Axis &axis, size_t place) {
    const Stack &stack = axis.stack;
    const Line &line = plot_.lines[axis.lines[place]];
    const int64_t gap = usual_distance(stack.times_ns) * 5 / 2;
    std::string path;
    for (size_t begin = 0, end = 0; begin < stack.times_ns.size(); begin = end) {
      for (end = begin + 1; end < stack.times_ns.size() && stack.times_ns[end] - stack.times_ns[end - 1] <= gap;) ++end;
      path += piece(axis, place, begin, end);
    }
    if (path.empty()) return;
    out_ += "<path d=\"" + path + "\"" + fill_of(style_of(plot_, axis, place), line) + "><title>" +
            command_line::xml_text(line.label) + "</title></path>\n";
  }

  // Draws the points [begin, end) of a stack, which have no gap. A single point has the width of a bar.
  std::string piece(const Axis &axis, size_t place, size_t begin, size_t end) const {
    constexpr double kBar = 1.5;
    const Stack &stack = axis.stack;
    const double half = end - begin == 1 ? kBar : 0;
    std::string above, below;
    for (size_t i = begin; i < end; ++i) {
      const double x = x_of(stack.times_ns[i]);
      const double top = y_of(stack.tops[place][i] / axis.unit.factor, axis.scale);
      const double base = y_of((place == 0 ? 0 : stack.tops[place - 1][i]) / axis.unit.factor, axis.scale);
      above += (above.empty() ? "M" : "L") + pixels(x - half) + " " + pixels(top);
      if (half > 0) above += "L" + pixels(x + half) + " " + pixels(top);
      std::string back = "L" + pixels(x + half) + " " + pixels(base);
      if (half > 0) back += "L" + pixels(x - half) + " " + pixels(base);
      below.insert(0, back);
    }
    return above + below + "Z";
  }

  // Two points of a short-lived process, far apart, get no connecting line next to lines of many points.
  int64_t distance_of(const Line &line) const {
    const int64_t own = usual_distance(line.points);
    return line.points.size() < kFewPoints && shortest_distance_ > 0 ? std::min(own, shortest_distance_) : own;
  }

  std::string dot(const query::Point &point, size_t index, const Line &line, const Axis &axis) const {
    return "<circle cx=\"" + pixels(x_of(point.time_ns)) + "\" cy=\"" + pixels(y_of(axis.scaled(line, point.value), axis.scale)) +
           "\" r=\"1.5\" fill=\"none\"" + stroke_of(index, line) + "/>\n";
  }

 private:
  const Plot &plot_;
  std::string &out_;
  const int top_;
  const int64_t shortest_distance_;
};

}  // namespace

Picture svg_of(const Plot &plot) {
  const std::vector<Panel> panels = panels_of(plot);
  std::vector<Legend> legends;
  legends.reserve(panels.size());
  for (const Panel &panel : panels) legends.push_back(legend_of(plot, panel));
  const int above = kTitle + (plot.subtitle.empty() ? 0 : kSubtitle);
  int height = above + 12;
  for (const Legend &legend : legends) height += plot.height + legend.height();
  std::string out = command_line::svg_head(plot.width, height);
  add_text(out, plot.width / 2.0, 22, "middle", core::cut_to_width(plot.title, static_cast<size_t>(plot.width / 9)),
           " font-size=\"15\"");
  add_text(out, plot.width / 2.0, 39, "middle",
           core::cut_to_width(plot.subtitle, static_cast<size_t>(plot.width / kCharacterWidth)), " fill=\"#555\"");
  int top = above;
  for (size_t i = 0; i < panels.size(); ++i) {
    Drawing(plot, out, top).panel(panels[i], i == 0);
    legends[i].draw(out, top + plot.height);
    top += plot.height + legends[i].height();
  }
  return {out + "</svg>\n", plot.width, height};
}

}  // namespace atalaya::plot
