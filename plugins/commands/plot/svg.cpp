// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/plot/svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string_view>

#include "core/sample/text.h"
#include "plugins/commands/plot/ticks.h"
#include "plugins/query/render.h"

namespace atalaya::plot {
namespace {

constexpr int kLeft = 72, kRight = 72, kTop = 14, kBottom = 40, kTitle = 34, kLegendRow = 18, kLegendColumn = 450;
constexpr size_t kMostLegends = 24;
// Okabe and Ito's colours, which people with colour blindness tell apart.
constexpr std::array<const char *, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#8c6d31", "#444444"};
constexpr std::array<const char *, 3> kDashes = {"", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 2\""};

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

// The usual distance of two points: what is much longer is a gap.
int64_t usual_distance(const std::vector<query::Point> &points) {
  std::vector<int64_t> distances;
  for (size_t i = 1; i < points.size(); ++i) distances.push_back(points[i].time_ns - points[i - 1].time_ns);
  if (distances.empty()) return 0;
  const auto middle = distances.begin() + static_cast<std::ptrdiff_t>(distances.size() / 2);
  std::nth_element(distances.begin(), middle, distances.end());
  return *middle;
}

class Drawing {
 public:
  Drawing(const Plot &plot, std::string &out, int top) : plot_(plot), out_(out), top_(top) {}

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
      const auto room = static_cast<size_t>((to - from) / 7);
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
    const int64_t gap = usual_distance(line.points) * 5 / 2;
    std::string path;
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
      // A point alone would not be seen.
      if ((!pen_down || far) && next_far) path += "h1.5";
      pen_down = true;
    }
    if (path.empty()) return;
    out_ += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + colour(index, line) + "\" stroke-width=\"" +
            (line.reference ? "2.5" : "1.4") + "\" stroke-linejoin=\"round\"" + dash(index, line) + "><title>" +
            query::xml_text(line.label) + "</title></path>\n";
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
};

int legend_columns(const Plot &plot) {
  return std::max(1, (plot.width - kLeft) / kLegendColumn);
}

void legend(std::string &out, const Plot &plot, int top) {
  const auto columns = static_cast<size_t>(legend_columns(plot));
  const size_t shown = std::min(plot.lines.size(), kMostLegends);
  for (size_t i = 0; i < shown; ++i) {
    const Line &line = plot.lines[i];
    const double x = kLeft + static_cast<double>(i % columns) * kLegendColumn;
    const size_t row = i / columns;
    const double y = top + 12 + static_cast<double>(row) * kLegendRow;
    out += "<line x1=\"" + number(x) + "\" y1=\"" + number(y - 4) + "\" x2=\"" + number(x + 24) + "\" y2=\"" + number(y - 4) +
           "\" stroke=\"" + Drawing::colour(i, line) + "\" stroke-width=\"2.5\"" + Drawing::dash(i, line) + "/>\n";
    const std::string unit = line.unit.empty() ? "" : " [" + line.unit + "]";
    add_text(out, x + 30, y, "start", core::cut_to_width(line.label + unit, (kLegendColumn - 40) / 7));
  }
  const size_t rows = (shown + columns - 1) / columns;
  if (plot.lines.size() > shown)
    add_text(out, kLeft, top + 12 + static_cast<double>(rows) * kLegendRow, "start",
             "and " + std::to_string(plot.lines.size() - shown) + " more lines");
}

}  // namespace

std::string svg_of(const Plot &plot) {
  const std::vector<Panel> panels = panels_of(plot);
  const size_t legends = std::min(plot.lines.size(), kMostLegends + 1);
  const int rows = (static_cast<int>(legends) + legend_columns(plot) - 1) / legend_columns(plot);
  const int height = kTitle + plot.height * static_cast<int>(panels.size()) + rows * kLegendRow + 12;
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(plot.width) + "\" height=\"" + std::to_string(height) +
      "\" viewBox=\"0 0 " + std::to_string(plot.width) + " " + std::to_string(height) +
      "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n";
  add_text(out, plot.width / 2.0, 22, "middle", core::cut_to_width(plot.title, static_cast<size_t>(plot.width / 9)),
           " font-size=\"15\"");
  int top = kTitle;
  for (const Panel &panel : panels) {
    Drawing(plot, out, top).panel(panel, &panel == &panels.front());
    top += plot.height;
  }
  legend(out, plot, top);
  return out + "</svg>\n";
}

}  // namespace atalaya::plot
