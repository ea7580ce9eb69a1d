// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/plot/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string_view>

#include "core/base/safe_text.h"
#include "plugins/shared/analysis/plot/ticks.h"
#include "plugins/shared/analysis/query/render.h"

namespace atalaya::plot {
namespace {

constexpr int kLeft = 72, kRight = 72, kTop = 14, kBottom = 40, kTitle = 34, kSubtitle = 12, kLegendRow = 18;
constexpr int kLetter = 7, kSwatch = 30;  // pixels: a letter's width, about, and that of a line in the legend
constexpr size_t kMostLegends = 60, kLongestLegend = 100;
// Okabe and Ito's colours, which people with colour blindness tell apart.
constexpr std::array<const char *, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#8c6d31", "#444444"};
constexpr std::array<const char *, 5> kDashes = {"", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 2\"",
                                                 " stroke-dasharray=\"9 3 2 3\"", " stroke-dasharray=\"14 3\""};

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

void add_text(std::string &out, double x, double y, const char *anchor, std::string_view text, const char *more = "") {
  out += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         query::xml_text(text) + "</text>\n";
}

void add_line(std::string &out, double x1, double y1, double x2, double y2, const char *stroke) {
  out += "<line x1=\"" + number(x1) + "\" y1=\"" + number(y1) + "\" x2=\"" + number(x2) + "\" y2=\"" + number(y2) + "\" stroke=\"" +
         stroke + "\"/>\n";
}

// One unit's lines, on the left or the right.
struct Axis {
  std::string unit;
  Scale scale;
  std::vector<size_t> lines;
};

struct Panel {
  std::vector<Axis> axes;  // one or two
};

Axis axis_of(const Plot &plot, const std::string &unit) {
  Axis axis;
  axis.unit = unit;
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (size_t i = 0; i < plot.lines.size(); ++i) {
    if (plot.lines[i].unit != unit) continue;
    axis.lines.push_back(i);
    for (const query::Point &point : plot.lines[i].points) {
      if (!std::isfinite(point.value)) continue;
      low = std::min(low, point.value);
      high = std::max(high, point.value);
    }
  }
  axis.scale = scale_of(low, high, 6);
  return axis;
}

std::vector<Panel> panels_of(const Plot &plot) {
  std::vector<std::string> units;
  for (const Line &line : plot.lines)
    if (std::find(units.begin(), units.end(), line.unit) == units.end()) units.push_back(line.unit);
  std::vector<Panel> panels;
  for (size_t i = 0; i < units.size(); ++i) {
    if (i % 2 == 0) panels.emplace_back();
    panels.back().axes.push_back(axis_of(plot, units[i]));
  }
  if (panels.empty()) panels.push_back({{Axis{}}});
  return panels;
}

// The usual distance of two points, what is much longer is a gap: one that a fifth of them do not exceed, because series that are
// silent now and then have more long distances than short ones.
int64_t usual_distance(const std::vector<query::Point> &points) {
  std::vector<int64_t> distances;
  for (size_t i = 1; i < points.size(); ++i) distances.push_back(points[i].time_ns - points[i - 1].time_ns);
  if (distances.empty()) return 0;
  const auto usual = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 5);
  std::nth_element(distances.begin(), usual, distances.end());
  return *usual;
}

// Of fewer points nobody can tell how often a series is read.
constexpr size_t kFewPoints = 8;

// The shortest usual distance of the lines that tell one; 0: none does.
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
      for (const size_t line : panel.axes[i].lines) draw(plot_.lines[line], line, panel.axes[i].scale);
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
      out_ += "<rect x=\"" + number(from) + "\" y=\"" + number(upper()) + "\" width=\"" + number(to - from) + "\" height=\"" +
              number(lower() - upper()) + "\" fill=\"" + (row % 2 == 0 ? "#0072b2" : "#e69f00") +
              "\" fill-opacity=\"0.08\"><title>" + query::xml_text(band.label) + "</title></rect>\n";
      const auto room = static_cast<size_t>((to - from) / kLetter);
      if (labelled && room > 2)
        add_text(out_, from + 4, upper() + 12 + static_cast<double>(row % 4) * 12, "start", core::cut_to_width(band.label, room),
                 " fill=\"#555\"");
      ++row;
    }
  }

  void grid(const Panel &panel) {
    const Scale &scale = panel.axes[0].scale;
    for (const double value : marks(scale)) add_line(out_, kLeft, y_of(value, scale), right(), y_of(value, scale), "#e4e4e4");
    out_ += "<rect x=\"" + number(kLeft) + "\" y=\"" + number(upper()) + "\" width=\"" + number(right() - kLeft) + "\" height=\"" +
            number(lower() - upper()) + "\" fill=\"none\" stroke=\"#999\"/>\n";
  }

  void times() {
    for (const TimeTick &tick : time_ticks(plot_.from_ns, plot_.to_ns, std::max(2, plot_.width / 110))) {
      const double x = x_of(tick.time_ns);
      add_line(out_, x, lower(), x, lower() + 4, "#999");
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
    const std::string turn = " transform=\"rotate(-90 " + number(side) + " " + number(middle) + ")\" fill=\"#555\"";
    add_text(out_, side, middle, "middle", axis.unit, turn.c_str());
  }

  void draw(const Line &line, size_t index, const Scale &scale) {
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
      path += number(x_of(point.time_ns)) + " " + number(y_of(point.value, scale));
      // A point alone has no line that would show it.
      if ((!pen_down || far) && next_far) dots += dot(point, index, line, scale);
      pen_down = true;
    }
    if (path.empty()) return;
    out_ += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour(index, line) + "\" stroke-width=\"" +
            (line.reference ? "2.5" : "1.4") + "\" stroke-linejoin=\"round\"" + dash(index, line) + "><title>" +
            query::xml_text(line.label) + "</title></path>\n" + dots;
  }

  // A process that is seen twice in an hour was not there in between: beside lines of many points it has no line of its own.
  int64_t distance_of(const Line &line) const {
    const int64_t own = usual_distance(line.points);
    return line.points.size() < kFewPoints && shortest_distance_ > 0 ? std::min(own, shortest_distance_) : own;
  }

  std::string dot(const query::Point &point, size_t index, const Line &line, const Scale &scale) const {
    return "<circle cx=\"" + number(x_of(point.time_ns)) + "\" cy=\"" + number(y_of(point.value, scale)) + "\" r=\"2\" fill=\"" +
           colour(index, line) + "\"/>\n";
  }

 public:
  static const char *colour(size_t index, const Line &line) {
    return line.reference ? "#000000" : kColours[index % kColours.size()];
  }
  static const char *dash(size_t index, const Line &line) {
    return line.reference ? " stroke-dasharray=\"8 4\"" : kDashes[index / kColours.size() % kDashes.size()];
  }

 private:
  const Plot &plot_;
  std::string &out_;
  const int top_;
  const int64_t shortest_distance_;
};

// The names of the lines, in columns of the width of the longest one; the reference comes first.
class Legend {
 public:
  explicit Legend(const Plot &plot) : plot_(plot), shown_(std::min(plot.lines.size(), kMostLegends)), order_(plot.lines.size()) {
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_partition(order_.begin(), order_.end(), [&](size_t i) { return plot.lines[i].reference; });
    const bool one_unit =
        std::all_of(plot.lines.begin(), plot.lines.end(), [&](const Line &line) { return line.unit == plot.lines.front().unit; });
    size_t longest = 1;
    labels_.reserve(shown_);
    for (size_t i = 0; i < shown_; ++i) {
      const Line &line = plot.lines[order_[i]];
      labels_.push_back(one_unit || line.unit.empty() ? line.label : line.label + " [" + line.unit + "]");
      longest = std::max(longest, core::display_width(labels_.back()));
    }
    const int room = plot.width - kLeft - 12;
    column_ = std::min(room, kSwatch + (static_cast<int>(std::min(longest, kLongestLegend)) + 2) * kLetter);
    columns_ = static_cast<size_t>(room / column_);
  }

  int height() const { return static_cast<int>(rows() + (shown_ < plot_.lines.size() ? 1 : 0)) * kLegendRow; }

  void draw(std::string &out, int top) const {
    const auto y_of = [&](size_t row) { return top + 12 + static_cast<double>(row) * kLegendRow; };
    for (size_t i = 0; i < shown_; ++i) {
      const Line &line = plot_.lines[order_[i]];
      const double x = kLeft + static_cast<double>(i % columns_) * column_;
      const double y = y_of(i / columns_);
      out += "<line x1=\"" + number(x) + "\" y1=\"" + number(y - 4) + "\" x2=\"" + number(x + kSwatch - 6) + "\" y2=\"" +
             number(y - 4) + "\" stroke=\"" + Drawing::colour(order_[i], line) + "\" stroke-width=\"2.5\"" +
             Drawing::dash(order_[i], line) + "/>\n";
      add_text(out, x + kSwatch, y, "start", core::cut_to_width(labels_[i], static_cast<size_t>((column_ - kSwatch) / kLetter)));
    }
    if (plot_.lines.size() > shown_)
      add_text(out, kLeft, y_of(rows()), "start", "and " + std::to_string(plot_.lines.size() - shown_) + " more lines");
  }

 private:
  size_t rows() const { return (shown_ + columns_ - 1) / columns_; }

  const Plot &plot_;
  const size_t shown_;
  std::vector<size_t> order_;  // indices of lines
  std::vector<std::string> labels_;
  int column_ = 1;
  size_t columns_ = 1;
};

}  // namespace

Picture svg_of(const Plot &plot) {
  const std::vector<Panel> panels = panels_of(plot);
  const Legend legend(plot);
  const int above = kTitle + (plot.subtitle.empty() ? 0 : kSubtitle);
  const int height = above + plot.height * static_cast<int>(panels.size()) + legend.height() + 12;
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(plot.width) + "\" height=\"" + std::to_string(height) +
      "\" viewBox=\"0 0 " + std::to_string(plot.width) + " " + std::to_string(height) +
      "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n";
  add_text(out, plot.width / 2.0, 22, "middle", core::cut_to_width(plot.title, static_cast<size_t>(plot.width / 9)),
           " font-size=\"15\"");
  add_text(out, plot.width / 2.0, 39, "middle", core::cut_to_width(plot.subtitle, static_cast<size_t>(plot.width / kLetter)),
           " fill=\"#555\"");
  int top = above;
  for (const Panel &panel : panels) {
    Drawing(plot, out, top).panel(panel, &panel == &panels.front());
    top += plot.height;
  }
  legend.draw(out, top);
  return {out + "</svg>\n", plot.width, height};
}

}  // namespace atalaya::plot
