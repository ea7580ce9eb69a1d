// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/picture/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>
#include <vector>

#include "core/base/text/json.h"
#include "core/base/text/safe_text.h"
#include "flamegraph/script.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/flamegraph/files/folded.h"
#include "plugins/shared/code/jvm/type_name.h"

namespace atalaya::flamegraph {
namespace {

// In pixels. The controls are next to the root, because a browser shows that part of a tall image first.
constexpr int kSide = 10, kHead = 46, kControls = 48, kRow = 16;
constexpr double kGap = 0.5;              // between neighbours
constexpr double kCharacterWidth = 7.25;  // width of a character of the frames' font
constexpr size_t kMaxName = 1000;         // columns
// Style sheet of a separate image; a page has its own. Frames keep their colours and dark texts.
constexpr const char *kDarkRules =
    "@media (prefers-color-scheme:dark){.flamegraph>rect{fill:#16181c}.flamegraph>text{fill:#d6d9de}"
    ".flamegraph .frames rect{stroke:#16181c}.flamegraph .frames g:hover rect{stroke:#fff}.flamegraph .reset{fill:#8ab4f8}}";
constexpr std::array<std::pair<Class, const char *>, 7> kClassTexts = {{{Class::application, "green: application"},
                                                                        {Class::inlined, "aqua: inlined"},
                                                                        {Class::runtime, "yellow: JVM or another runtime"},
                                                                        {Class::interpreter, "brown: interpreter"},
                                                                        {Class::system, "red: libraries"},
                                                                        {Class::kernel, "orange: kernel"},
                                                                        {Class::unknown, "grey: unknown"}}};
constexpr const char *kChangeLegend = "red: a larger share than before, blue: a smaller one";

std::string fixed(double value, int decimals) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  return text.data();
}

struct Frame {
  uint32_t node = 0;
  double begin = 0;  // sum of the values of the preceding siblings
};

// The minimum width of a frame such that at most the maximum number of frames is drawn. A parent is never narrower than its
// children.
double min_width(const Tree &tree, size_t max_frames) {
  std::vector<double> widths;
  widths.reserve(tree.size());
  for (uint32_t i = 0; i < tree.size(); ++i)
    if (tree.node(i).shown() > 0) widths.push_back(tree.node(i).shown());
  if (widths.size() <= max_frames) return 0;
  const auto first_excluded = widths.begin() + static_cast<std::ptrdiff_t>(max_frames);
  std::nth_element(widths.begin(), first_excluded, widths.end(), std::greater<>());
  return std::nextafter(*first_excluded, HUGE_VAL);
}

// Lays out the frames, parents first.
std::vector<Frame> frames_of(const Tree &tree, size_t max_frames) {
  const double minimum = min_width(tree, max_frames);
  std::vector<Frame> frames;
  if (tree.root().shown() > 0) frames.push_back({});
  for (size_t i = 0; i < frames.size(); ++i) {
    double begin = frames[i].begin;
    for (const uint32_t child : tree.children(frames[i].node)) {
      const double width = tree.node(child).shown();
      if (width > 0 && width >= minimum) frames.push_back({child, begin});
      begin += width;
    }
  }
  return frames;
}

// A hash of the name from 0 to 1. It distinguishes adjacent frames and gives a function the same colour in all images.
double shade_of(std::string_view name) {
  uint32_t hash = 2166136261;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619;
  return static_cast<double>(hash >> 8 & 0xffff) / 0xffff;
}

std::string colour(double red, double green, double blue) {
  std::array<char, 8> text{};
  const auto part = [](double value) { return static_cast<unsigned>(std::clamp(value, 0.0, 255.0)); };
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", part(red), part(green), part(blue));
  return text.data();
}

std::string class_colour(Class kind, double shade) {
  switch (kind) {
    case Class::application:
      return colour(50 + 60 * shade, 200 + 55 * shade, 50 + 60 * shade);
    case Class::inlined:
      return colour(50 + 40 * shade, 190 + 40 * shade, 190 + 40 * shade);
    case Class::interpreter:
      return colour(165 + 25 * shade, 135 + 25 * shade, 85 + 25 * shade);
    case Class::kernel:
      return colour(235 + 20 * shade, 115 + 30 * shade, 20 + 30 * shade);
    case Class::runtime:
      return colour(200 + 30 * shade, 200 + 30 * shade, 50 + 20 * shade);
    case Class::system:
      return colour(215 + 40 * shade, 70 + 70 * shade, 60 + 70 * shade);
    case Class::unknown:
      return colour(170 + 15 * shade, 170 + 15 * shade, 170 + 15 * shade);
    case Class::group:
      break;
  }
  return colour(208 + 14 * shade, 214 + 14 * shade, 226 + 14 * shade);
}

// The colour of a change: red for an increase, blue for a decrease. `largest`: the largest change in the image.
std::string change_colour(double change, double largest) {
  const double rest = largest > 0 ? 255 - 165 * std::min(1.0, std::abs(change) / largest) : 255;
  if (rest > 250) return "#f4f4f4";
  return change > 0 ? colour(255, rest, rest) : colour(rest, rest, 255);
}

std::string grouped(const std::string &digits) {
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

class Drawing {
 public:
  Drawing(const Tree &tree, const Classes &classes, const Style &style)
      : tree_(tree), classes_(classes), style_(style), frames_(frames_of(tree, style.frames)) {
    for (const Frame &frame : frames_) {
      depth_ = std::max(depth_, static_cast<int>(tree_.node(frame.node).depth));
      largest_ = std::max(largest_, std::abs(share_change(tree_, tree_.node(frame.node))));
    }
  }

  std::string svg() {
    head();
    out_ += "<g class=\"frames\">\n";
    for (const Frame &frame : frames_) draw(frame);
    out_ += "</g>\n";
    controls();
    if (style_.self_contained)
      out_ +=
          "<script><![CDATA[\n{\n" + std::string(kScript) + "attach(document.currentScript.closest(\"svg\"));\n}\n]]></script>\n";
    out_ += "</svg>\n";
    return std::move(out_);
  }

 private:
  int height() const { return kHead + (depth_ + 1) * kRow + kControls; }
  size_t characters_in(double letter) const { return static_cast<size_t>((style_.width - 2 * kSide) / letter); }
  double scale() const { return (style_.width - 2 * kSide) / tree_.root().shown(); }
  int y_of(const Node &node) const {
    const int row = static_cast<int>(node.depth);
    return kHead + (style_.icicle ? kControls + row * kRow : (depth_ - row) * kRow);
  }

  void text(double x, double y, const char *more, std::string_view text) {
    out_ += "<text x=\"" + fixed(x, 1) + "\" y=\"" + fixed(y, 1) + "\"" + more + ">" + command_line::xml_text(text) + "</text>\n";
  }

  void head() {
    const std::string width = std::to_string(style_.width);
    const std::string tall = std::to_string(height());
    out_ += "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"flamegraph\" width=\"" + width + "\" height=\"" + tall +
            "\" viewBox=\"0 0 " + width + " " + tall + "\" data-unit=\"" +
            (style_.unit == Unit::samples ? "samples" : "nanoseconds") + "\" data-row=\"" + std::to_string(kRow) +
            "\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" font-size=\"12\">\n" +
            (style_.self_contained ? "<style>" + std::string(kRules) + kDarkRules + "</style>\n" : "") +
            "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    const double middle = style_.width / 2.0;
    text(middle, 22, " text-anchor=\"middle\" font-size=\"16\"", core::cut_to_width(style_.title, characters_in(9.7)));
    text(middle, 38, " text-anchor=\"middle\" fill=\"#555\"", core::cut_to_width(subtitle(), characters_in(kCharacterWidth)));
    if (frames_.empty()) text(middle, kHead + 12, " text-anchor=\"middle\" fill=\"#555\"", "no stacks");
  }

  std::string subtitle() const {
    size_t all = 0;
    for (uint32_t i = 0; i < tree_.size(); ++i) all += tree_.node(i).shown() > 0 ? 1 : 0;
    if (frames_.size() >= all) return style_.subtitle;
    return style_.subtitle + (style_.subtitle.empty() ? "the widest " : "; the widest ") + std::to_string(frames_.size()) + " of " +
           std::to_string(all) + " frames";
  }

  void draw(const Frame &frame) {
    const Node &node = tree_.node(frame.node);
    const double x = kSide + frame.begin * scale();
    const double width = node.shown() * scale();
    const int y = y_of(node);
    const std::string name = core::cut_to_width(tree_.name(frame.node), kMaxName);
    const std::string brief(jvm::class_and_method(name));
    out_ += "<g data-p=\"";
    core::append_number(out_, frame.begin);
    core::append_number(out_ += ' ', node.shown());
    if (brief != name) out_ += "\" data-s=\"" + command_line::xml_text(brief);
    out_ += "\"><title>" + command_line::xml_text(name + " (" + about(node) + ")") + "</title><rect x=\"" + fixed(x, 1) +
            "\" y=\"" + std::to_string(y) + "\" width=\"" + fixed(width > 2 ? width - kGap : width, 1) + "\" height=\"" +
            std::to_string(kRow - 1) + "\" fill=\"" + fill_of(frame) + "\"/>";
    const auto letters = static_cast<size_t>(std::max(0.0, width - 6) / kCharacterWidth);
    if (letters >= 3)
      out_ += "<text x=\"" + fixed(x + 3, 1) + "\" y=\"" + std::to_string(y + 12) + "\">" +
              command_line::xml_text(core::cut_to_width(core::display_width(name) <= letters ? name : brief, letters)) + "</text>";
    out_ += "</g>\n";
  }

  std::string fill_of(const Frame &frame) const {
    if (style_.compared) return change_colour(share_change(tree_, tree_.node(frame.node)), largest_);
    return class_colour(classes_.class_at(frame.node), shade_of(tree_.name(frame.node)));
  }

  std::string about(const Node &node) const {
    const Node &all = tree_.root();
    std::string text = value_text(node.shown(), style_.unit) + ", " + fixed(100 * node.shown() / all.shown(), 2) + " %";
    if (style_.compared && all.before() > 0) {
      const double change = 100 * share_change(tree_, node);
      text += ", before " + fixed(100 * node.before() / all.before(), 2) + " %, " + (change < 0 ? "" : "+") + fixed(change, 2);
    }
    return text;
  }

  // The legend has only the colours that the image uses.
  std::string class_legend(size_t room) const {
    std::set<Class> shown;
    for (const Frame &frame : frames_) shown.insert(classes_.class_at(frame.node));
    std::string all, some;
    for (const auto &[kind, text] : kClassTexts) {
      all += (all.empty() ? "" : ", ") + std::string(text);
      if (shown.contains(kind)) some += (some.empty() ? "" : ", ") + std::string(text);
    }
    return all.size() <= room ? all : some;
  }

  std::string legend() const {
    const size_t room = characters_in(kCharacterWidth);
    const std::string text =
        style_.compared ? kChangeLegend + ("; darkest: " + fixed(100 * largest_, 2) + " percentage points") : class_legend(room);
    return core::cut_to_width(text, room);
  }

  void controls() {
    const int top = style_.icicle ? kHead : height() - kControls;
    const auto row = [&](int below) { return "\" y=\"" + std::to_string(top + below) + "\""; };
    out_ += "<text class=\"reset\" x=\"" + std::to_string(kSide) + row(18) + " display=\"none\">Reset zoom</text>\n";
    out_ +=
        "<text class=\"matched\" x=\"" + std::to_string(style_.width - kSide - 180) + row(18) + " text-anchor=\"end\"></text>\n";
    out_ += "<foreignObject class=\"search\" x=\"" + std::to_string(style_.width - kSide - 170) + row(2) +
            " width=\"170\" height=\"24\" display=\"none\"><input xmlns=\"http://www.w3.org/1999/xhtml\" type=\"search\" "
            "placeholder=\"Search (text or regex)\"/></foreignObject>\n";
    out_ += "<text class=\"about\" x=\"" + std::to_string(kSide) + row(40) + ">" + legend() + "</text>\n";
  }

  const Tree &tree_;
  const Classes &classes_;
  const Style &style_;
  const std::vector<Frame> frames_;
  int depth_ = 0;
  double largest_ = 0;
  std::string out_;
};

}  // namespace

std::string value_text(double value, Unit unit) {
  if (unit == Unit::nanoseconds) return value >= 1e9 ? fixed(value / 1e9, 3) + " s" : fixed(value / 1e6, 3) + " ms";
  if (value != std::floor(value)) return fixed(value, 2) + " samples";
  return grouped(fixed(value, 0)) + (value == 1 ? " sample" : " samples");
}

std::string svg_of(const Tree &tree, const Classes &classes, const Style &style) {
  return Drawing(tree, classes, style).svg();
}

}  // namespace atalaya::flamegraph
