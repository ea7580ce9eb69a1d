// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/bottleneck/pictures.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/jobs/reasons/resource.h"
#include "plugins/shared/analysis/plot/ticks.h"

namespace atalaya::bottleneck {
namespace {

constexpr int kWidth = 520, kHeight = 280, kLeft = 76, kRight = 14, kTop = 34, kBottom = 58;
constexpr size_t kMaxPoints = 2'000, kMaxBars = 24, kWidestName = 12;
// Colours from the lowest grade to the highest; distinguishable for colour-blind readers.
constexpr std::array<const char *, jobs::kGrades> kColours = {"#d55e00", "#e69f00", "#999999", "#56b4e9", "#0072b2"};
constexpr const char *kBefore = "#999999", *kAfter = "#0072b2";

std::string pixels(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

class Picture {
 public:
  Picture(const std::string &title, double highest) : scale_(plot::scale_of(0, highest, 5)) {
    out_ = command_line::svg_head(kWidth, kHeight);
    text(kLeft, 18, "start", title, " font-size=\"13\"");
    for (const double mark : plot::marks(scale_)) {
      out_ += "<line x1=\"" + std::to_string(kLeft) + "\" y1=\"" + pixels(y(mark)) + "\" x2=\"" + std::to_string(kWidth - kRight) +
              "\" y2=\"" + pixels(y(mark)) + "\" class=\"grid\" stroke=\"#ddd\"/>\n";
      text(kLeft - 6, y(mark) + 4, "end", plot::tick_text(mark, scale_.step));
    }
  }

  static double x(double part) { return kLeft + part * (kWidth - kLeft - kRight); }
  double y(double value) const {
    return kHeight - kBottom - (value - scale_.low) / (scale_.high - scale_.low) * (kHeight - kBottom - kTop);
  }
  void text(double at_x, double at_y, const char *anchor, const std::string &words, const std::string &more = "") {
    out_ += "<text x=\"" + pixels(at_x) + "\" y=\"" + pixels(at_y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
            command_line::xml_text(words) + "</text>\n";
  }
  void dot(double at_x, double value, const char *colour, const std::string &says) {
    out_ += "<circle cx=\"" + pixels(at_x) + "\" cy=\"" + pixels(y(value)) + "\" r=\"2.5\" fill=\"" + colour + "\"><title>" +
            command_line::xml_text(says) + "</title></circle>\n";
  }
  void bar(double left, double right, double value, const char *colour, const std::string &says) {
    out_ += "<rect x=\"" + pixels(left) + "\" y=\"" + pixels(y(value)) + "\" width=\"" + pixels(right - left) + "\" height=\"" +
            pixels(y(0) - y(value)) + "\" fill=\"" + colour + "\"><title>" + command_line::xml_text(says) + "</title></rect>\n";
  }
  void tick(double at_x, const std::string &words) {
    const int bottom = kHeight - kBottom;
    out_ += "<line x1=\"" + pixels(at_x) + "\" y1=\"" + std::to_string(bottom) + "\" x2=\"" + pixels(at_x) + "\" y2=\"" +
            std::to_string(bottom + 4) + "\" stroke=\"#999\"/>\n";
    text(at_x, bottom + 15, "middle", words);
  }
  // Draws the label of a bar, rotated, below it.
  void name(double at_x, const std::string &words) {
    const std::string turn = " transform=\"rotate(-30 " + pixels(at_x) + " " + pixels(kHeight - kBottom + 14) + ")\"";
    text(at_x, kHeight - kBottom + 14, "end", core::cut_to_width(core::visible(words), kWidestName), turn);
  }
  void legend(const std::vector<std::pair<const char *, std::string>> &colours, double at = kLeft, int base = kHeight - 8) {
    for (const auto &[colour, words] : colours) {
      out_ += "<rect x=\"" + pixels(at) + "\" y=\"" + std::to_string(base - 8) + "\" width=\"9\" height=\"9\" fill=\"" + colour +
              "\"/>\n";
      text(at + 13, base, "start", words);
      at += 22 + 7 * static_cast<double>(words.size());
    }
  }
  std::string finished() { return std::move(out_ += "</svg>\n"); }

 private:
  plot::Scale scale_;
  std::string out_;
};

std::string title_of(const jobs::JobData &data, const jobs::Group &group, const char *measure) {
  const std::string &stage = data.name(group.stage), &phase = data.name(group.phase);
  return core::visible(stage + (phase.empty() ? " tasks" : " " + phase)) + ": " + measure;
}

// Draws the axis labels of a chart that covers `seconds`.
void add_seconds(Picture &picture, double seconds) {
  constexpr double kShortest = 0.001;  // starts have a resolution of milliseconds
  const plot::Scale scale = plot::scale_of(0, std::max(seconds, kShortest), 6);
  for (const double mark : plot::marks(scale))
    if (mark == 0 || (mark <= seconds && seconds >= kShortest))
      picture.tick(Picture::x(mark / seconds), plot::tick_text(mark, scale.step));
  picture.text(Picture::x(0.5), kHeight - kBottom + 30, "middle", "start, in seconds after the first one", " fill=\"#555\"");
}

}  // namespace

std::string scatter_of(const jobs::JobData &data, const jobs::Group &group) {
  const auto less = [](auto member) {
    return [member](const jobs::Entry &a, const jobs::Entry &b) { return a.*member < b.*member; };
  };
  const auto [first, last] = std::minmax_element(group.entries.begin(), group.entries.end(), less(&jobs::Entry::start_ns));
  const double begin = static_cast<double>(first->start_ns), length = std::max(1.0, static_cast<double>(last->start_ns) - begin);
  const size_t every = group.entries.size() / kMaxPoints + 1;
  std::string title = title_of(data, group, group.by_time ? "speed in tasks per second" : "speed in KiB/s");
  if (every > 1) title += " (one task of " + std::to_string(every) + ")";
  Picture picture(title, std::max_element(group.entries.begin(), group.entries.end(), less(&jobs::Entry::speed))->speed);
  for (size_t i = 0; i < group.entries.size(); i += every) {
    const jobs::Entry &entry = group.entries[i];
    const jobs::Task &task = data.tasks[entry.task];
    picture.dot(Picture::x((static_cast<double>(entry.start_ns) - begin) / length), entry.speed,
                kColours[static_cast<size_t>(entry.grade)],
                std::string(task.attempt().empty() ? task.task() : task.attempt()) + " on " + data.name(task.host) + ": " +
                    speed_text(group, entry.speed) + ", " + std::string(grade_text(entry.grade)));
  }
  add_seconds(picture, length / 1e9);
  std::vector<std::pair<const char *, std::string>> colours;
  for (size_t i = 0; i < jobs::kGrades; ++i) colours.emplace_back(kColours[i], grade_text(static_cast<jobs::Grade>(i)));
  picture.legend(colours);
  return picture.finished();
}

std::string slowest_by_node(const jobs::JobData &data, const jobs::Group &group) {
  std::vector<jobs::NodeSpeed> nodes = group.nodes;
  std::string title = title_of(data, group, "tasks in the lowest grade, by node");
  if (nodes.size() > kMaxBars) {
    std::stable_sort(nodes.begin(), nodes.end(),
                     [](const jobs::NodeSpeed &a, const jobs::NodeSpeed &b) { return a.lowest > b.lowest; });
    title += " (" + std::to_string(kMaxBars) + " of " + std::to_string(nodes.size()) + ")";
    nodes.resize(kMaxBars);
  }
  size_t most = 1;
  for (const jobs::NodeSpeed &node : nodes) most = std::max(most, node.lowest);
  Picture picture(title, static_cast<double>(most));
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto place = [&](double part) { return Picture::x((static_cast<double>(i) + part) / static_cast<double>(nodes.size())); };
    picture.bar(
        place(0.2), place(0.8), static_cast<double>(nodes[i].lowest), kColours.front(),
        data.name(nodes[i].host) + ": " + std::to_string(nodes[i].lowest) + " of " + std::to_string(nodes[i].tasks) + " tasks");
    picture.name(place(0.5), data.name(nodes[i].host));
  }
  return picture.finished();
}

std::string change_of(const jobs::JobData &data, const std::vector<jobs::Compared> &speeds) {
  const std::vector<jobs::Compared> shown(speeds.begin(),
                                          speeds.begin() + static_cast<ptrdiff_t>(std::min(speeds.size(), kMaxBars)));
  double most = 1;
  for (const jobs::Compared &one : shown) most = std::max({most, one.before, one.after});
  Picture picture("Processing speed in KiB/s, before and after", most);
  for (size_t i = 0; i < shown.size(); ++i) {
    const jobs::Compared &one = shown[i];
    const auto place = [&](double part) { return Picture::x((static_cast<double>(i) + part) / static_cast<double>(shown.size())); };
    const std::string name = data.name(one.stage) + (one.phase == 0 ? "" : " " + data.name(one.phase));
    picture.bar(place(0.15), place(0.5), one.before, kBefore, name + " before: " + jobs::short_text(one.before) + " KiB/s");
    picture.bar(place(0.5), place(0.85), one.after, kAfter, name + " after: " + jobs::short_text(one.after) + " KiB/s");
    picture.name(place(0.5), name);
  }
  picture.legend({{kBefore, "before"}, {kAfter, "after"}}, Picture::x(0.7),
                 18);  // at the top: below the bars it would overlap the names
  return picture.finished();
}

}  // namespace atalaya::bottleneck
