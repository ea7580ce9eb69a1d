// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/graph/drawing/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/graph/drawing/text.h"

namespace atalaya::graph {
namespace {

constexpr size_t kWidestName = 34, kMaxValueLength = 9;
constexpr int kCell = 62, kRow = 26, kTitle = 40, kCharacterWidth = 7, kMargin = 14;

constexpr const char *kLegend = "rows send, columns receive; the diagonal stays within";

std::string shown(const std::string &name) {
  return core::cut_to_width(core::visible(name), kWidestName);
}

std::string padded(const std::string &text, size_t width, bool right) {
  const size_t taken = core::display_width(text);
  const std::string room(width > taken ? width - taken : 0, ' ');
  return right ? room + text : text + room;
}

// Darkness of a cell from 0 to 1, on a scale that keeps small amounts visible next to large ones.
double shade(double bytes, double maximum) {
  return bytes <= 0 || maximum <= 0 ? 0 : std::sqrt(bytes / maximum);
}

const char *block(double bytes, double maximum) {
  constexpr std::array<const char *, 5> kBlocks = {" ", "░", "▒", "▓", "█"};
  return kBlocks[bytes <= 0 ? 0 : 1 + std::min<size_t>(3, static_cast<size_t>(shade(bytes, maximum) * 4))];
}

// The colour of a cell from white to dark blue; its text has a contrasting colour.
std::string fill(double how) {
  const auto part = [how](double full) { return std::to_string(std::lround(255 + (full - 255) * how)); };
  return "rgb(" + part(8) + "," + part(48) + "," + part(107) + ")";
}

std::string text_at(double x, double y, const char *anchor, const std::string &text, const std::string &more = "") {
  return "<text x=\"" + short_number(x, 1) + "\" y=\"" + short_number(y, 1) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         command_line::xml_text(text) + "</text>\n";
}

class Picture {
 public:
  explicit Picture(const Matrix &matrix) : matrix_(matrix) {
    size_t widest = 4;
    for (const std::string &name : matrix.names) widest = std::max(widest, core::display_width(shown(name)));
    const auto letters = static_cast<int>(widest) * kCharacterWidth + kMargin;
    left_ = letters;
    // The names of columns are rotated, so they need less height than length.
    top_ = kTitle + letters * 7 / 10 + kMargin;
    right_ = letters * 7 / 10;
  }

  std::string draw(const std::string &title) {
    const int count = static_cast<int>(matrix_.names.size());
    const int foot = left_ + static_cast<int>(std::string_view(kLegend).size()) * kCharacterWidth;
    const int width = std::max({left_ + count * kCell + right_ + kMargin, foot, 2 * kMargin + static_cast<int>(title.size()) * 9});
    const int height = top_ + count * kRow + kMargin + 20;
    out_ = command_line::svg_head(width, height);
    out_ += text_at(kMargin, 24, "start", title, " font-size=\"15\"");
    for (size_t i = 0; i < matrix_.names.size(); ++i) row(i);
    for (size_t i = 0; i < matrix_.names.size(); ++i) out_ += box(i, i) + " fill=\"none\" stroke=\"#444\"/>\n";
    out_ += text_at(left_, top_ + count * kRow + 18, "start", kLegend, " fill=\"#555\"");
    return out_ + "</svg>\n";
  }

 private:
  double x_of(size_t column) const { return left_ + static_cast<double>(column) * kCell; }
  double y_of(size_t row) const { return top_ + static_cast<double>(row) * kRow; }

  void row(size_t from) {
    const std::string name = shown(matrix_.names[from]);
    out_ += text_at(left_ - 8, y_of(from) + kRow * 0.65, "end", name);
    const std::string x = short_number(x_of(from) + kCell / 2.0, 1), y = short_number(top_ - 8, 1);
    std::string turn = " transform=\"rotate(-45 ";
    turn += x + " " + y + ")\"";
    out_ += text_at(x_of(from) + kCell / 2.0, top_ - 8, "start", name, turn);
    for (size_t to = 0; to < matrix_.names.size(); ++to) cell(from, to);
  }

  std::string box(size_t from, size_t to) const {
    return "<rect x=\"" + short_number(x_of(to), 1) + "\" y=\"" + short_number(y_of(from), 1) + "\" width=\"" +
           std::to_string(kCell) + "\" height=\"" + std::to_string(kRow) + "\"";
  }

  void cell(size_t from, size_t to) {
    const double bytes = matrix_.bytes[from][to], how = shade(bytes, matrix_.maximum);
    out_ += box(from, to) + " fill=\"" + fill(how) + "\" stroke=\"#ccc\"><title>" +
            command_line::xml_text(matrix_.names[from] + " to " + matrix_.names[to] + ": " + bytes_text(bytes)) +
            "</title></rect>\n";
    if (bytes > 0)
      out_ += text_at(x_of(to) + kCell / 2.0, y_of(from) + kRow * 0.65, "middle", bytes_text(bytes),
                      how > 0.5 ? " class=\"own\" fill=\"white\"" : " class=\"own\" fill=\"#222\"");
  }

  const Matrix &matrix_;
  int left_ = 0, top_ = 0, right_ = 0;
  std::string out_;
};

}  // namespace

std::string as_text(const Matrix &matrix) {
  size_t widest = 0;
  for (const std::string &name : matrix.names) widest = std::max(widest, core::display_width(shown(name)));
  const size_t digits = std::to_string(matrix.names.size()).size();
  std::string out = std::string(digits + 1 + widest, ' ');
  for (size_t to = 0; to < matrix.names.size(); ++to) out += padded(std::to_string(to + 1), kMaxValueLength + 3, true);
  out += '\n';
  for (size_t from = 0; from < matrix.names.size(); ++from) {
    out += padded(std::to_string(from + 1), digits, true) + " " + padded(shown(matrix.names[from]), widest, false);
    for (const double bytes : matrix.bytes[from])
      out += padded(bytes > 0 ? bytes_text(bytes) : ".", kMaxValueLength + 1, true) + " " + block(bytes, matrix.maximum);
    out += '\n';
  }
  return out;
}

std::string as_svg(const Matrix &matrix, const std::string &title) {
  return Picture(matrix).draw(title);
}

}  // namespace atalaya::graph
