// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/phases/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "plugins/commands/phases/tables.h"
#include "plugins/shared/analysis/phases/change_points.h"
#include "plugins/shared/analysis/query/render.h"
#include "plugins/shared/analysis/query/time_text.h"

namespace atalaya::phases {
namespace {

constexpr int kWidth = 1200, kLeft = 78, kRight = 20, kTop = 58, kPanel = 92, kGap = 14, kRow = 15;
constexpr size_t kFunctions = 4;
constexpr std::array kColours = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#bb5566", "#999933"};

std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string text_at(double x, double y, const char *anchor, const std::string &text, const std::string &more = "") {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         query::xml_text(text) + "</text>\n";
}

std::string line(double x1, double y1, double x2, double y2, const std::string &style) {
  return "<line x1=\"" + coordinate(x1) + "\" y1=\"" + coordinate(y1) + "\" x2=\"" + coordinate(x2) + "\" y2=\"" + coordinate(y2) +
         "\" " + style + "/>\n";
}

// The resources that the run used at all.
std::vector<size_t> used_resources(const ProcessTrace &trace) {
  std::vector<size_t> used;
  for (size_t r = 0; r < kResources; ++r) {
    double most = 0;
    for (const ResourceValues &one : trace.resources)
      if (std::isfinite(one.values[r])) most = std::max(most, one.values[r]);
    if (most > 0.01) used.push_back(r);
  }
  return used;
}

SeriesSet series_of(const ProcessTrace &trace, const std::vector<size_t> &resources) {
  SeriesSet series;
  for (const size_t r : resources) {
    series.emplace_back();
    for (const ResourceValues &one : trace.resources) series.back().push_back(one.values[r]);
  }
  return series;
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
    const double bottom = kTop + static_cast<double>(resources_.size()) * (kPanel + kGap);
    for (size_t i = 0; i < series.size(); ++i) panel(i, series[i]);
    for (const size_t at : r_points)
      out_ += line(x_of(at), kTop - 4, x_of(at), bottom - kGap, "stroke=\"#c33\" stroke-width=\"1\" stroke-dasharray=\"4 3\"");
    axis(bottom - kGap);
    double y = bottom + 22;
    y = braces(y, "S", segments());
    y = braces(y, "R+S", pieces(rs_points));
    const double height = code(y) + 16;
    return head(height, r_points.size(), rs_points.size()) + out_ + "</svg>\n";
  }

 private:
  struct Brace {
    size_t begin, end;
    std::string label, colour;
  };

  double x_of(size_t sample) const {
    return kLeft + (kWidth - kLeft - kRight) * static_cast<double>(sample) / static_cast<double>(trace_.size());
  }

  std::string head(double height, size_t r_points, size_t rs_points) const {
    const std::string size = coordinate(height);
    size_t phases = 0;
    for (const Segment &segment : run_.segments) phases += segment.phase != kNoPhase ? 1 : 0;
    const std::string title =
        run_.trace.process + ", process " + run_.trace.pid + (run_.trace.host.empty() ? "" : " on " + run_.trace.host);
    const std::string what = "Phases by stacks (S): " + std::to_string(phases) +
                             ". Changes of resources (R, dashed lines): " + std::to_string(r_points) +
                             ". Changes of resources and stacks (R+S): " + std::to_string(rs_points) + ".";
    return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(kWidth) + "\" height=\"" + size +
           "\" viewBox=\"0 0 " + std::to_string(kWidth) + " " + size +
           "\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\" font-size=\"11\">\n" +
           "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
           text_at(kWidth / 2.0, 22, "middle", title, " font-size=\"15\"") +
           text_at(kWidth / 2.0, 40, "middle", what, " fill=\"#555\"");
  }

  void panel(size_t index, const std::vector<double> &values) {
    const double top = kTop + static_cast<double>(index) * (kPanel + kGap), bottom = top + kPanel;
    double most = 0;
    for (const double value : values)
      if (std::isfinite(value)) most = std::max(most, value);
    out_ += line(kLeft, bottom, kWidth - kRight, bottom, "stroke=\"#999\"") + line(kLeft, top, kLeft, bottom, "stroke=\"#999\"");
    out_ += text_at(kLeft - 6, top + 10, "end", query::rounded_text(std::round(most * 10) / 10)) +
            text_at(kLeft - 6, bottom, "end", "0");
    out_ += text_at(kLeft + 6, top + 11, "start",
                    std::string(kResourceTexts[resources_[index]]) + " [" + std::string(kResourceUnits[resources_[index]]) + "]",
                    " fill=\"#333\"");
    std::string path;
    bool is_down = false;
    for (size_t i = 0; i < values.size(); ++i) {
      if (!std::isfinite(values[i])) {
        is_down = false;
        continue;
      }
      const double x = (x_of(i) + x_of(i + 1)) / 2, y = bottom - values[i] / most * (kPanel - 16);
      path += (is_down ? "L" : "M") + coordinate(x) + " " + coordinate(y);
      is_down = true;
    }
    out_ += "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + kColours[index % kColours.size()] + "\" stroke-width=\"1.3\"/>\n";
  }

  void axis(double y) {
    const double first = static_cast<double>(trace_.time_ns(0)), last = static_cast<double>(trace_.time_ns(trace_.size() - 1));
    for (int i = 0; i <= 10; ++i) {
      const double x = kLeft + (kWidth - kLeft - kRight) * i / 10.0;
      out_ += line(x, y, x, y + 4, "stroke=\"#999\"") +
              text_at(x, y + 16, "middle", coordinate((last - first) / 1e10 * i) + " s", " fill=\"#555\"");
    }
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

  // Labels that do not fit next to each other are on two lines in turn.
  double braces(double y, const std::string &name, const std::vector<Brace> &all) {
    out_ += text_at(kLeft - 6, y + 10, "end", name, " font-weight=\"bold\"");
    size_t labelled = 0;
    bool has_labels = false;
    for (const Brace &brace : all) {
      const double x1 = x_of(brace.begin) + 1, x2 = std::max(x_of(brace.end) - 1, x1 + 1), middle = (x1 + x2) / 2;
      const double bend = std::min(6.0, (x2 - x1) / 4);
      out_ += "<path d=\"M" + coordinate(x1) + " " + coordinate(y) + "q0 6 " + coordinate(bend) + " 6L" +
              coordinate(middle - bend) + " " + coordinate(y + 6) + "q" + coordinate(bend) + " 0 " + coordinate(bend) + " 6q0 -6 " +
              coordinate(bend) + " -6L" + coordinate(x2 - bend) + " " + coordinate(y + 6) + "q" + coordinate(bend) + " 0 " +
              coordinate(bend) + " -6\" fill=\"none\" stroke=\"" + brace.colour + "\" stroke-width=\"1.6\"/>\n";
      if (brace.label.empty()) continue;
      has_labels = true;
      const size_t room = static_cast<size_t>(std::max((x2 - x1) / 6.2, 0.0));
      if (room < 4) continue;
      const std::string label = brace.label.size() > 2 * room ? brace.label.substr(0, 2 * room) : brace.label;
      out_ += text_at(middle, y + 25 + static_cast<double>(labelled++ % 2) * 13, "middle", label, " fill=\"" + brace.colour + "\"");
    }
    return y + (has_labels ? 52 : 24);
  }

  // The functions of each phase.
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
      const std::string colour = kColours[i % kColours.size()];
      out_ += "<rect x=\"" + coordinate(x) + "\" y=\"" + coordinate(row_top) + "\" width=\"10\" height=\"10\" fill=\"" + colour +
              "\"/>\n";
      out_ += text_at(x + 16, row_top + 9, "start", run_.ids[i] + ": epoch of " + std::to_string(known->phase.epoch) + " samples",
                      " font-weight=\"bold\"");
      double at = row_top + 9;
      for (const std::string &function : top_functions(*known, database_.symbols(), kFunctions))
        out_ += text_at(x + 16, at += kRow, "start", function.substr(0, 84), " fill=\"#444\"");
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
